package filestore

import (
	"encoding/binary"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"agentgw"
	"agentgw/ledger"
)

// record is a stored record: version, time of writing, stamp and time of expiry, 8 bytes each, then the value.
type record []byte

const headerSize = 32

func (r record) version() uint64 { return binary.BigEndian.Uint64(r) }
func (r record) at() int64       { return int64(binary.BigEndian.Uint64(r[8:])) }
func (r record) stamp() uint64   { return binary.BigEndian.Uint64(r[16:]) }
func (r record) expires() int64  { return int64(binary.BigEndian.Uint64(r[24:])) }
func (r record) value() []byte   { return r[headerSize:] }

func pack(version uint64, at int64, stamp uint64, expires int64, value []byte) record {
	r := make([]byte, 0, headerSize+len(value))
	r = binary.BigEndian.AppendUint64(r, version)
	r = binary.BigEndian.AppendUint64(r, uint64(at))
	r = binary.BigEndian.AppendUint64(r, stamp)
	r = binary.BigEndian.AppendUint64(r, uint64(expires))
	return append(r, value...)
}

// read returns the record under key, nil where there is none or its time is over. It is good until the transaction writes or ends.
func read(tx *bbolt.Tx, key []byte, now int64) (record, error) {
	b := tx.Bucket(bucketRecords).Get(key)
	if b == nil {
		return nil, nil
	}
	if len(b) < headerSize {
		return nil, fmt.Errorf("%w: record %q has %d bytes", errDamaged, key, len(b))
	}
	if r := record(b); !over(r.expires(), now) {
		return r, nil
	}
	return nil, nil
}

func over(expires, now int64) bool { return expires != 0 && expires <= now }

func recordKey(p agentgw.Partition, name string) []byte {
	k := make([]byte, 0, len(p)+1+len(name))
	return append(append(append(k, p...), ':'), name...)
}

// address reads what recordKey wrote.
func address(key []byte) (at ledger.Address, ok bool) {
	i := slices.Index(key, ':')
	if i < 0 || i == len(key)-1 {
		return at, false
	}
	return ledger.Address{Partition: agentgw.Partition(key[:i]), Name: string(key[i+1:])}, true
}

// show is a record as callers get it.
func show(name string, r record) ledger.Record {
	if r == nil {
		return ledger.Record{Name: name}
	}
	return ledger.Record{Name: name, Version: r.version(), At: moment(r.at()), Value: slices.Clone(r.value())}
}

// swap makes one swap. An error is the transaction's end.
func (w *writer) swap(sw *ledger.Swap) (ledger.Reply, error) {
	found := make([]ledger.Stamped, len(sw.Changes))
	reply := ledger.Reply{Now: moment(w.now), Records: make([]ledger.Record, len(sw.Changes))}
	for i := range sw.Changes {
		c := &sw.Changes[i]
		r, err := read(w.tx, recordKey(sw.Partition, c.Name), w.now)
		if err != nil {
			return reply, err
		}
		if r != nil {
			found[i] = ledger.Stamped{Version: r.version(), Stamp: r.stamp()}
		}
		reply.Records[i].Name = c.Name
	}
	apply, before := sw.Fits(found)
	reply.Applied, reply.Version = apply || before != 0, before
	if apply {
		return reply, w.write(sw, &reply)
	}
	for i := range sw.Changes {
		r, err := read(w.tx, recordKey(sw.Partition, sw.Changes[i].Name), w.now)
		if err != nil {
			return reply, err
		}
		reply.Records[i] = show(sw.Changes[i].Name, r)
	}
	return reply, nil
}

// write makes the changes of a swap that fits.
func (w *writer) write(sw *ledger.Swap, reply *ledger.Reply) error {
	for i := range sw.Changes {
		c := &sw.Changes[i]
		key := recordKey(sw.Partition, c.Name)
		there, err := read(w.tx, key, w.now)
		if err != nil {
			return err
		}
		if c.Look {
			reply.Records[i] = show(c.Name, there)
			continue
		}
		if c.Value == nil && there == nil {
			continue
		}
		w.writes++
		if old := w.tx.Bucket(bucketRecords).Get(key); old != nil { // perhaps expired and not swept yet
			if err := w.unfile(key, record(old).expires()); err != nil {
				return err
			}
		}
		if c.Value == nil {
			if err := w.remove(key); err != nil {
				return err
			}
			continue
		}
		if reply.Version == 0 {
			w.version = max(w.version+1, uint64(w.now))
			reply.Version = w.version
		}
		if err := w.put(key, c, reply.Version, sw.Stamp); err != nil {
			return err
		}
		reply.Records[i] = ledger.Record{Name: c.Name, Version: reply.Version, At: reply.Now, Value: c.Value}
	}
	return nil
}

// put files a record under key.
func (w *writer) put(key []byte, c *ledger.Change, version, stamp uint64) error {
	expires := int64(0)
	if c.Keep > 0 {
		expires = w.now + max(c.Keep.Microseconds(), 1)
		if err := w.tx.Bucket(bucketExpiry).Put(expiryKey(key, expires), nil); err != nil {
			return err
		}
	}
	open := w.tx.Bucket(bucketOpen)
	if c.Open {
		if err := open.Put(key, binary.BigEndian.AppendUint64(nil, uint64(expires))); err != nil {
			return err
		}
	} else if err := open.Delete(key); err != nil {
		return err
	}
	return w.tx.Bucket(bucketRecords).Put(key, pack(version, w.now, stamp, expires, c.Value))
}

// remove takes a record away.
func (w *writer) remove(key []byte) error {
	if err := w.tx.Bucket(bucketOpen).Delete(key); err != nil {
		return err
	}
	return w.tx.Bucket(bucketRecords).Delete(key)
}

// unfile takes a record's time of expiry away.
func (w *writer) unfile(key []byte, expires int64) error {
	if expires == 0 {
		return nil
	}
	return w.tx.Bucket(bucketExpiry).Delete(expiryKey(key, expires))
}

func expiryKey(key []byte, expires int64) []byte {
	return append(binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(key)), uint64(expires)), key...)
}
