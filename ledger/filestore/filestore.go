// Package filestore keeps a ledger in one file (bbolt), durably: what was answered is on the disk, whatever kills the process.
//
// One goroutine commits. Swaps that arrive while a commit is on its way to the disk wait for the next one and share it, so the price of
// an fsync is split between them.
//
// The file grows to what it held at its fullest and does not shrink: pages of expired records are used again. To give the space back,
// stop the gateway and run `bbolt compact -o new.db old.db` (go.etcd.io/bbolt/cmd/bbolt).
package filestore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"agentgw/ledger"
)

// Options of a store; the zero value works.
type Options struct {
	Now  func() time.Time // the clock of the machine; nil: time.Now. The store's clock follows it but never goes back.
	Wait time.Duration    // how long to wait for another process to let go of the file; 0: 1 s
}

// Store is a ledger.Store in a file. Its methods are safe for concurrent use.
type Store struct {
	path string
	now  func() time.Time
	db   *bbolt.DB
	file *os.File // the same file that db has open

	mu     sync.Mutex
	queue  []*request
	closed bool
	failed error // a commit that failed for good: nothing is known about the file any more
	clock  int64 // microseconds: the latest time given out

	version uint64        // the last one given; the committer's alone
	wake    chan struct{} // holds one token while there may be something in queue
	done    chan struct{} // closed when the committer has ended
}

// Buckets. Integers are big-endian, times are microseconds since 1970.
var (
	bucketMeta    = []byte("agentgw") // "format", "version": the last one given, "clock": the latest time given out
	bucketRecords = []byte("records") // partition:name -> header and value, see record
	bucketOpen    = []byte("open")    // partition:name -> time of expiry, 0: never
	bucketExpiry  = []byte("expiry")  // time of expiry, partition:name -> nothing

	keyFormat  = []byte("format")
	keyVersion = []byte("version")
	keyClock   = []byte("clock")
)

const format = "ledger 1"

// Open opens the ledger in the file at path and makes one where there is none.
func Open(path string, o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Wait == 0 {
		o.Wait = time.Second
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	s := &Store{path: path, now: o.Now, wake: make(chan struct{}, 1), done: make(chan struct{})}
	if err := guard(func() error { return s.open(o.Wait) }); err != nil {
		if s.file != nil {
			s.file.Close() // lets go of the lock, too
		}
		return nil, explain(path, err)
	}
	go s.commitLoop()
	return s, nil
}

func (s *Store) open(wait time.Duration) error {
	if info, err := os.Stat(s.path); err == nil && info.Size() > 0 {
		if err := s.inspect(wait); err != nil {
			return err
		}
	}
	db, err := bbolt.Open(s.path, 0o600, s.options(wait))
	if err != nil {
		return err
	}
	s.db = db
	if err := db.Update(s.prepare); err != nil {
		return err
	}
	// The file's own name must survive a power failure as well.
	dir, err := os.Open(filepath.Dir(s.path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

func (s *Store) options(wait time.Duration) *bbolt.Options {
	return &bbolt.Options{
		Timeout: wait,
		// The list of free pages is made anew at the start, not written with each commit.
		NoFreelistSync: true,
		FreelistType:   bbolt.FreelistMapType,
		NoStatistics:   true,
		OpenFile: func(name string, flag int, mode os.FileMode) (file *os.File, err error) {
			s.file, err = os.OpenFile(name, flag, mode)
			return s.file, err
		},
	}
}

// inspect reads every page that leads to a record. bbolt does so too when it opens a file for writing, but in a goroutine of its own,
// where a damaged page ends the process.
func (s *Store) inspect(wait time.Duration) error {
	o := s.options(wait)
	o.ReadOnly = true
	db, err := bbolt.Open(s.path, 0o600, o)
	if err != nil {
		return err
	}
	defer db.Close()
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	return db.View(func(tx *bbolt.Tx) error {
		if tx.Size() > info.Size() {
			return fmt.Errorf("%w: it is cut short, %d bytes of %d", errDamaged, info.Size(), tx.Size())
		}
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			return b.ForEach(func(_, _ []byte) error { return nil })
		})
	})
}

// prepare makes the buckets of a new file, or reads where an old one stopped.
func (s *Store) prepare(tx *bbolt.Tx) error {
	meta := tx.Bucket(bucketMeta)
	if meta == nil {
		if first, _ := tx.Cursor().First(); first != nil {
			return errForeign
		}
		for _, name := range [][]byte{bucketMeta, bucketRecords, bucketOpen, bucketExpiry} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return tx.Bucket(bucketMeta).Put(keyFormat, []byte(format))
	}
	if got := string(meta.Get(keyFormat)); got != format {
		return fmt.Errorf("%w: its format is %q and this agentgw reads %q", errForeign, got, format)
	}
	for _, name := range [][]byte{bucketRecords, bucketOpen, bucketExpiry} {
		if tx.Bucket(name) == nil {
			return fmt.Errorf("%w: it has no %s", errDamaged, name)
		}
	}
	s.version = number(meta.Get(keyVersion))
	s.clock = int64(number(meta.Get(keyClock)))
	return nil
}

// number reads a stored integer; 0 where there is none.
func number(b []byte) uint64 {
	if len(b) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}

// ErrInUse is wrapped by the error of Open where another process has the ledger open.
var ErrInUse = errors.New("another agentgw has this ledger open")

var (
	errDamaged = errors.New("the file is damaged")
	errForeign = errors.New("the file is not a ledger of this agentgw")
)

// explain says what is wrong with a ledger file and what to do.
func explain(path string, err error) error {
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return fmt.Errorf("ledger %s: %w: stop it, or give this one a file of its own (`ledger: file:…`), or both a Redis", path, ErrInUse)
	case errors.Is(err, errForeign), errors.Is(err, berrors.ErrVersionMismatch):
		return fmt.Errorf("ledger %s: %w: name another file (`ledger: file:…`)", path, err)
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, errDamaged):
		return fmt.Errorf("ledger %s: %w: if it is a ledger, put back a copy, or move it away and accept that calls it remembered can happen again", path, err)
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("ledger %s: the folder is not there: make it, or name another (`ledger: file:…`)", path)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("ledger %s: %w: let this user read and write it", path, err)
	}
	return fmt.Errorf("ledger %s: %w", path, err)
}

// guard turns a panic over a damaged page, or a fault in the mapped file, into an error.
func guard(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errDamaged, p)
		}
	}()
	return do()
}

// Health reports a commit that failed for good, and a file that is no longer where it was opened.
func (s *Store) Health(context.Context) error {
	if err := s.usable(); err != nil {
		return err
	}
	mine, err := s.file.Stat()
	if err != nil {
		return explain(s.path, err)
	}
	there, err := os.Stat(s.path)
	if err != nil || !os.SameFile(mine, there) {
		return fmt.Errorf("ledger %s: the file was moved or removed while in use: put it back and restart, or what is remembered now is lost", s.path)
	}
	return nil
}

// usable says why no swap is taken now. Its error wraps ledger.ErrNotApplied.
func (s *Store) usable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refusal()
}

// refusal is usable under the lock.
func (s *Store) refusal() error {
	switch {
	case s.closed:
		return fmt.Errorf("ledger %s is closed: %w", s.path, ledger.ErrNotApplied)
	case s.failed != nil:
		return fmt.Errorf("ledger %s: writing failed earlier: %w: see to the disk and restart: %w", s.path, s.failed, ledger.ErrNotApplied)
	}
	return nil
}

// Close finishes what was taken on and lets go of the file. Later calls fail.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.nudge()
	<-s.done
	return s.db.Close()
}

// tick reads the store's clock: the machine's, but never earlier than any time given out before.
func (s *Store) tick() int64 {
	now := s.now().UnixMicro()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock = max(s.clock, now)
	return s.clock
}

func moment(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

var _ ledger.Store = (*Store)(nil)
