package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// mark is one line of FILE.done: what became of one line of FILE.
type mark struct {
	Line     int    `json:"line"`
	Digest   string `json:"digest"`
	Is       string `json:"is"`
	Decision string `json:"decision,omitempty"`
	Outcome  string `json:"outcome,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Effect   string `json:"effect,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

// final reports whether a later run leaves the line alone: it is done, or it is a doubt that nothing can settle by asking again.
func (m mark) final() bool {
	return m.Is == isAlready || m.Is == isExecuted || m.Is == isDoubt && m.unguarded()
}

// unguarded: the ledger knows nothing of it.
func (m mark) unguarded() bool { return m.Effect == "" && (m.Decision == "passed" || m.Decision == "") }

func sortMarks(all []mark) {
	slices.SortFunc(all, func(a, b mark) int { return cmp.Compare(a.Line, b.Line) })
}

// journal is FILE.done. A line of it is on the disk before the next step is taken, so that SIGKILL loses nothing; what is written at the
// same time shares one fsync.
type journal struct {
	file   *os.File
	known  map[int]mark // of earlier runs, the last by line
	missed map[int]bool // lines that an earlier run found missing
	bound  bool         // an earlier run said whose it is
	queue  chan entry
	ended  chan struct{}
	err    error // after ended
}

type entry struct {
	mark    mark
	written chan error
}

// errInUse: another process has the journal. The lock ends with its process, however that ends.
var errInUse = errors.New("in use")

// openJournal reads what earlier runs left, and writes down whose it is where none of them did. It refuses where the file is no longer the
// one that they sent, or they sent it as somebody else.
func openJournal(name string, b *bulk, whose binding) (*journal, error) {
	f, err := openAlone(name)
	if errors.Is(err, errInUse) {
		return nil, usagef("another agentgw redeliver of this file is running: it holds %s; wait until it ends, or stop it: the same command then goes on with what is left", name)
	}
	if err != nil {
		return nil, usage(err)
	}
	j := &journal{file: f, known: map[int]mark{}, missed: map[int]bool{}, queue: make(chan entry, 64), ended: make(chan struct{})}
	err = j.read(b, whose)
	if err == nil && !j.bound {
		err = j.append(whose)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	dir, err := os.Open(filepath.Dir(name))
	if err == nil { // the name must survive, too
		err = errors.Join(dir.Sync(), dir.Close())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	go j.run()
	return j, nil
}

// read takes in all whole lines, and cuts off the one that a crash may have torn.
func (j *journal) read(b *bulk, whose binding) error {
	text, err := io.ReadAll(j.file)
	if err != nil {
		return usage(err)
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	for line := range bytes.Lines(text[:whole]) {
		if was, ok := readBinding(line); ok {
			if other := was.otherThan(whose); other != "" {
				return usagef("%s is of %s: what is done there is not done here. Run it as before, or send a copy of the file under another name", j.file.Name(), other)
			}
			j.bound = true
			continue
		}
		var m mark
		if err := json.Unmarshal(line, &m); err != nil || m.Line < 1 {
			return usagef("%s holds a line that is not its own: %s; move the file away to begin anew", j.file.Name(), bytes.TrimSpace(line))
		}
		if b.digests[m.Line] != m.Digest {
			return usagef("%s says of line %d what was sent, and the line has changed since; put new calls into another file, or remove %s to "+
				"begin anew: what was done is not done again", j.file.Name(), m.Line, j.file.Name())
		}
		j.known[m.Line] = m
		if m.Is == isBegun {
			j.missed[m.Line] = true
		}
	}
	if err := j.file.Truncate(int64(whole)); err != nil {
		return err
	}
	_, err = j.file.Seek(0, io.SeekEnd)
	return err
}

// settled reports whether earlier runs settled a line.
func (j *journal) settled(l *bulkLine) bool { return j.known[l.number].final() }

// begun reports whether an earlier run ended while the call of a line was under way.
func (j *journal) begun(l *bulkLine) bool { return j.known[l.number].Is == isBegun }

// write returns when the mark is on the disk.
func (j *journal) write(m mark) error {
	e := entry{m, make(chan error, 1)}
	j.queue <- e
	return <-e.written
}

func (j *journal) run() {
	defer close(j.ended)
	for e := range j.queue {
		batch := []entry{e}
		for more := true; more; {
			select {
			case e, ok := <-j.queue:
				if more = ok; ok {
					batch = append(batch, e)
				}
			default:
				more = false
			}
		}
		if j.err == nil { // after a failed write the end of the file is not known
			j.err = j.append(marksOf(batch)...)
		}
		for _, e := range batch {
			e.written <- j.err
		}
	}
}

func marksOf(batch []entry) (lines []any) {
	for _, e := range batch {
		lines = append(lines, e.mark)
	}
	return lines
}

// append returns when the lines are on the disk.
func (j *journal) append(lines ...any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, line := range lines {
		if err := enc.Encode(line); err != nil {
			return err
		}
	}
	if _, err := j.file.Write(b.Bytes()); err != nil {
		return err
	}
	return j.file.Sync()
}

// close ends the journal. No one may write any more.
func (j *journal) close() error {
	close(j.queue)
	<-j.ended
	return j.file.Close()
}
