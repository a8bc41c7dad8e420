package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"agentgw/canonicalize"
)

// bulk is what a first reading of a file of calls found.
type bulk struct {
	lines      int // that can be read
	digests    map[int]string
	unreadable []error
}

// bulkLine is one call of a file.
type bulkLine struct {
	number  int // from 1 on
	digest  string
	members string // of the native body, but for mode
}

// body is what is sent.
func (l *bulkLine) body(mode string) json.RawMessage {
	return json.RawMessage(`{"mode":"` + mode + `",` + l.members + `}`)
}

// mark is what became of the line.
func (l *bulkLine) mark(is string, d *decision) mark {
	m := mark{Line: l.number, Digest: l.digest, Is: is}
	if d != nil {
		m.Decision, m.Outcome, m.Reason, m.Detail = d.Decision, d.Outcome, d.Reason, d.Detail
		if d.Effect != nil {
			m.Effect = d.Effect.ID
		}
	}
	return m
}

// scanBulk reads the whole file before anything is sent.
func scanBulk(file string) (*bulk, error) {
	b := &bulk{digests: map[int]string{}}
	err := eachNumbered(file, func(n int, text []byte) error {
		l, err := readBulkLine(n, text)
		if err != nil {
			b.unreadable = append(b.unreadable, fmt.Errorf("%s:%d: %w", file, n, err))
			return nil
		}
		b.lines++
		b.digests[n] = l.digest
		return nil
	})
	return b, err
}

// eachBulkLine reads the calls of a file; what cannot be read is left out.
func eachBulkLine(file string, carry func(*bulkLine) error) error {
	return eachNumbered(file, func(n int, text []byte) error {
		l, err := readBulkLine(n, text)
		if err != nil {
			return nil
		}
		return carry(l)
	})
}

// eachNumbered reads the lines of a file that are not blank.
func eachNumbered(file string, read func(n int, text []byte) error) error {
	f, err := os.Open(file)
	if err != nil {
		return usage(err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	for n := 1; ; n++ {
		text, err := in.ReadBytes('\n')
		if text = bytes.TrimSpace(text); len(text) > 0 {
			if err := read(n, text); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return usage(err)
		}
	}
}

// bulkMembers are the members of a call that a line may have. A nonce belongs to actions that no gateway sends.
var bulkMembers = []string{"tool", "arguments", "idempotency_key", "repeat_token", "same_as", "context", "mode", "batch"}

// readBulkLine reads one call. Its members stay as they came.
func readBulkLine(n int, text []byte) (*bulkLine, error) {
	v, err := canonicalize.Parse(text)
	if err != nil {
		return nil, err
	}
	if v.Kind != canonicalize.Object {
		return nil, fmt.Errorf(`this is %s; write {"tool": "create_invoice", "arguments": {…}}`, v.Kind)
	}
	var members []string
	for _, m := range v.Members {
		if !slices.Contains(bulkMembers, m.Name) {
			return nil, fmt.Errorf("%q is no member of a call; there are %s", m.Name, strings.Join(bulkMembers, ", "))
		}
		if m.Name != "mode" {
			members = append(members, `"`+m.Name+`":`+m.Value.Raw())
		} else if m.Value.Text == "check" {
			return nil, errors.New("mode check only asks; leave it out to have the call made")
		}
	}
	if tool, ok := v.Member("tool"); !ok || tool.Kind != canonicalize.String || tool.Text == "" {
		return nil, errors.New(`the call names no tool: write {"tool": "create_invoice", "arguments": {…}}`)
	}
	sum := sha256.Sum256(text)
	return &bulkLine{number: n, digest: hex.EncodeToString(sum[:8]), members: strings.Join(members, ",")}, nil
}
