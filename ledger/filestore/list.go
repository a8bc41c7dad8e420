package filestore

import (
	"context"
	"fmt"

	"go.etcd.io/bbolt"

	"agentgw/ledger"
)

// maxLooked bounds what one page looks at, so that no reader holds an old state of the file for long.
const maxLooked = 10_000

// page walks a bucket from behind the cursor on, until visit has counted limit entries.
func (s *Store) page(ctx context.Context, bucket []byte, cursor string, limit int, visit func(tx *bbolt.Tx, key, value []byte) (counts bool, err error)) (next string, err error) {
	if err := s.usable(); err != nil {
		return "", err
	}
	if limit < 1 {
		limit = 100
	}
	err = guard(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			c := tx.Bucket(bucket).Cursor()
			k, v := c.Seek([]byte(cursor))
			if string(k) == cursor && k != nil {
				k, v = c.Next()
			}
			counted, looked := 0, 0
			for ; k != nil; k, v = c.Next() {
				counts, err := visit(tx, k, v)
				if err != nil {
					return err
				}
				if counts {
					counted++
				}
				if looked++; counted >= limit || looked >= maxLooked {
					next = string(k)
					return nil
				}
			}
			return nil
		})
	})
	if err != nil {
		return "", explain(s.path, err)
	}
	return next, ctx.Err()
}

// Open pages through the index of open records by address.
func (s *Store) Open(ctx context.Context, cursor string, limit int) (found []ledger.Address, next string, err error) {
	now := s.tick()
	next, err = s.page(ctx, bucketOpen, cursor, limit, func(_ *bbolt.Tx, k, expires []byte) (bool, error) {
		if over(int64(number(expires)), now) {
			return false, nil
		}
		at, ok := address(k)
		if !ok {
			return false, fmt.Errorf("%w: %q among the open records", errDamaged, k)
		}
		found = append(found, at)
		return true, nil
	})
	return found, next, err
}

// Scan pages through the records by address.
func (s *Store) Scan(ctx context.Context, cursor string, limit int) (found []ledger.Stored, next string, err error) {
	now := s.tick()
	next, err = s.page(ctx, bucketRecords, cursor, limit, func(tx *bbolt.Tx, k, v []byte) (bool, error) {
		at, ok := address(k)
		if !ok || len(v) < headerSize {
			return false, fmt.Errorf("%w: record %q has %d bytes", errDamaged, k, len(v))
		}
		if r := record(v); at.Name[0] == 'e' && !over(r.expires(), now) {
			found = append(found, ledger.Stored{Address: at, Record: show(at.Name, r)})
			return true, nil
		}
		return false, nil
	})
	return found, next, err
}
