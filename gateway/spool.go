package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"unicode/utf8"

	"agentgw"
	"agentgw/ledger"
)

// Spool keeps outcomes that the ledger could not take, one file each in a folder beside the gateway, so that they outlive it. Writing
// one twice is harmless: the ledger knows it by its fence.
type Spool struct{ dir string }

// NewSpool keeps outcomes in the folder dir, which is made when the first one comes.
func NewSpool(dir string) *Spool { return &Spool{dir} }

// spooled is one outcome on its way to the ledger.
type spooled struct {
	Effect    string          `json:"effect"`
	Fence     uint64          `json:"fence"`
	Outcome   agentgw.Outcome `json:"outcome"`
	NeverSent bool            `json:"never_sent,omitempty"`
	Why       string          `json:"why,omitempty"`
	Answer    *spooledAnswer  `json:"answer,omitempty"`
}

// spooledAnswer is an answer byte for byte.
type spooledAnswer struct {
	Status  int             `json:"status"`
	Header  []spooledHeader `json:"headers,omitempty"`
	Body    []byte          `json:"body,omitempty"`
	Trailer []spooledHeader `json:"trailers,omitempty"`
}

// spooledHeader has its value as text where it is UTF-8, for people who look into the spool, and else as bytes: JSON would replace them.
type spooledHeader struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
	Bytes []byte `json:"bytes,omitempty"`
}

func toSpool(a *agentgw.Answer) *spooledAnswer {
	if a == nil {
		return nil
	}
	headers := func(all []agentgw.Header) []spooledHeader {
		var out []spooledHeader
		for _, h := range all {
			if utf8.ValidString(h.Value) {
				out = append(out, spooledHeader{Name: h.Name, Value: h.Value})
			} else {
				out = append(out, spooledHeader{Name: h.Name, Bytes: []byte(h.Value)})
			}
		}
		return out
	}
	return &spooledAnswer{a.Status, headers(a.Header), a.Body, headers(a.Trailer)}
}

func (a *spooledAnswer) answer() *agentgw.Answer {
	if a == nil {
		return nil
	}
	headers := func(all []spooledHeader) []agentgw.Header {
		var out []agentgw.Header
		for _, h := range all {
			out = append(out, agentgw.Header{Name: h.Name, Value: h.Value + string(h.Bytes)})
		}
		return out
	}
	return &agentgw.Answer{Status: a.Status, Header: headers(a.Header), Body: a.Body, Trailer: headers(a.Trailer)}
}

const (
	spoolSuffix   = ".outcome.json"
	unknownSuffix = ".unknown.json" // of effects that the ledger did not know
)

// put writes an outcome so that it survives a crash of the machine. Names sort by fence, which is by age.
func (s *Spool) put(e *agentgw.Effect, res agentgw.Result) (name string, err error) {
	b, err := json.Marshal(spooled{e.ID.String(), e.Fence, res.Outcome, res.NeverSent, res.Why, toSpool(res.Answer)})
	if err != nil {
		return "", err
	}
	name = filepath.Join(s.dir, fmt.Sprintf("%020d-%s%s", e.Fence, e.ID, spoolSuffix))
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(s.dir, "*.tmp")
	if err != nil {
		return "", err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return name, s.sync()
}

// sync makes what was renamed and removed in the folder durable.
func (s *Spool) sync() error {
	d, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (s *Spool) remove(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return s.sync()
}

// waiting lists the outcomes in the spool, the oldest first.
func (s *Spool) waiting() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), spoolSuffix) {
			names = append(names, filepath.Join(s.dir, e.Name()))
		}
	}
	sort.Strings(names)
	return names, nil
}

// spool keeps an outcome durably until it is written; the returned function says that it is. Where that fails too it is raised: then the
// outcome is lost with this process.
func (g *Gateway) spool(e *agentgw.Effect, res agentgw.Result) (written func()) {
	if g.Spool == nil {
		return func() {}
	}
	name, err := g.Spool.put(e, res)
	if err != nil {
		g.raise(e, fmt.Sprintf("its outcome could be written neither to the ledger nor to the spool: %v", err))
		return func() {}
	}
	return func() {
		if err := g.Spool.remove(name); err != nil {
			g.raise(e, fmt.Sprintf("its outcome is written, and stays in the spool: %v", err))
		}
	}
}

// Recover writes the outcomes that an earlier process left in the spool to the ledger, in order. It is called before the first call is
// taken, and returns how many were written; the error says that the ledger is still away, or that a file cannot be read.
func (g *Gateway) Recover(ctx context.Context) (written int, err error) {
	if g.Spool == nil {
		return 0, nil
	}
	names, err := g.Spool.waiting()
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if e := g.recoverOne(ctx, name); e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", filepath.Base(name), e))
			continue
		}
		written++
	}
	return written, err
}

func (g *Gateway) recoverOne(ctx context.Context, name string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var s spooled
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	id, err := agentgw.ParseEffectID(s.Effect)
	if err != nil {
		return err
	}
	_, err = g.Ledger.SettleFence(ctx, id, s.Fence, agentgw.Result{Outcome: s.Outcome, NeverSent: s.NeverSent, Why: s.Why, Answer: s.Answer.answer()})
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		aside := strings.TrimSuffix(name, spoolSuffix) + unknownSuffix
		g.raise(&agentgw.Effect{ID: id}, fmt.Sprintf("its outcome %s waited in the spool, and this ledger does not know it: is it the right one? The outcome is kept in %s; name it %s to have it written", s.Outcome, filepath.Base(aside), filepath.Base(name)))
		return errors.Join(os.Rename(name, aside), g.Spool.sync())
	case errors.Is(err, ledger.ErrStale):
		g.raise(&agentgw.Effect{ID: id}, fmt.Sprintf("its outcome %s waited in the spool, and the effect has moved on", s.Outcome))
	case err != nil:
		return err
	}
	return g.Spool.remove(name)
}
