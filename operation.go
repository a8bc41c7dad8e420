package agentgw

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// Operation is the intended business operation of a call: what is left when wording, order and notation are taken away.
type Operation struct {
	Rule   *Rule
	Tenant string
	Scope  string  // "" for the tenant; else the principal or the task, told apart by a prefix
	Fields []Field // key, must_match and other typed fields in the order of the policy

	ID     EffectID
	Digest Digest // over the same canonical text as the key, independent of it: a hash is an address, not an identity

	Entity    Partition // where its entity lives; "" without one
	EntityOf  string    // words for people: "order A-1042"
	Lock      Partition // the lock's record; "" without one
	LockOf    string
	CallerKey Partition // the record of the caller's key; "" without one
	CallerID  string    // the caller's key itself, for messages
	Limit     Partition // the budget's record; "" without one
	Newer     string    // canonical value of the `newer` field, ordered as bytes; "" without one
	Arguments []byte    // as they came, for `ignored` and for people; the ledger may drop large ones
	ArgDigest Digest    // of all arguments in canonical form: what an approval or a token covers

	Near     *Near       // the earlier effect that came nearest, for people
	Elements []Operation // `each`: one effect an element; the batch itself is the outer operation
}

// Meaning is the free text of the operation as it came, by field.
func (op *Operation) Meaning() map[string]string {
	m := map[string]string{}
	for _, f := range op.Fields {
		if f.Role == RoleMeaning {
			m[f.Name] = f.Text()
		}
	}
	return m
}

// Field is one typed value of an operation.
type Field struct {
	Name  string
	Role  Role
	Raw   string // as it came: JSON text; "" where absent
	Canon string // canonical JSON text; "" where absent or null
}

// Text is the value in words: as it came, or, of a default, in canonical form. It is "" where there is no value.
func (f Field) Text() string {
	from := f.Raw
	if f.Canon == "" {
		return ""
	}
	if from == "" {
		from = f.Canon
	}
	var s string
	if json.Unmarshal([]byte(from), &s) == nil {
		return s
	}
	return from
}

// maxKept is how long a canonical value the ledger keeps as it is, in bytes.
const maxKept = 256

// Kept is what the ledger keeps of the canonical value: the value itself, or the SHA-256 of a long one. Equal values have equal Kepts.
func (f Field) Kept() string {
	if len(f.Canon) <= maxKept {
		return f.Canon
	}
	sum := sha256.Sum256([]byte(f.Canon))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Role says what a field does for identity.
type Role uint8

const (
	RoleKey     Role = iota // identity
	RoleMatch               // must be equal for the same identity
	RoleMeaning             // free text in the key: identity by exact text, likeness asked about
	RoleOther               // typed for entity, lock, limit or newer only
)

// Digest is 128 bits of a SHA-256.
type Digest [16]byte

// IsZero reports whether no digest is set.
func (d Digest) IsZero() bool { return d == Digest{} }

// Partition names the records that change together in one atomic step: an effect alone, an entity with all its effects, a lock, a
// caller's key, a budget. It is a letter for the kind and a digest in lower-case base32; no two kinds share a name.
type Partition string

// NewPartition names the partition of kind over a digest.
func NewPartition(kind byte, d Digest) Partition {
	return Partition(spelled(string(kind), d))
}

// Kinds of partitions.
const (
	PartitionEffect    = 'e' // one effect alone
	PartitionEntity    = 's' // an entity, its state, and all effects on it
	PartitionMeaning   = 'm' // effects that differ in free text only, and the index of candidates
	PartitionLock      = 'l'
	PartitionCallerKey = 'k'
	PartitionLimit     = 'b'
	PartitionNewer     = 'n'
)

// EffectID names an effect for users: its partition and its key.
type EffectID struct {
	Partition Partition
	Key       Digest
}

const effectPrefix = "eff_"

// String is "eff_" and the partition; the key follows where it is not the partition's own digest.
func (id EffectID) String() string {
	if id.Partition == "" {
		return ""
	}
	var key [encodedLen]byte
	base.Encode(key[:], id.Key[:])
	if id.Partition[0] == PartitionEffect && id.Partition[1:] == Partition(key[:]) {
		return effectPrefix + string(id.Partition)
	}
	return effectPrefix + string(id.Partition) + string(key[:])
}

// Record is the name of the effect's record within its partition. What an overwrite claims is no effect and is named otherwise.
func (id EffectID) Record() string {
	if id.Newest() {
		return "n"
	}
	return spelled("e", id.Key)
}

// Newest reports whether the id is of what an overwrite claims: no effect, but the newest value of a record.
func (id EffectID) Newest() bool { return id.Partition != "" && id.Partition[0] == PartitionNewer }

// IsZero reports whether the id names no effect.
func (id EffectID) IsZero() bool { return id.Partition == "" }

// ParseEffectID reads what String wrote. The error says what is wrong with the text.
func ParseEffectID(s string) (EffectID, error) {
	rest, ok := strings.CutPrefix(s, effectPrefix)
	if !ok || (len(rest) != 1+encodedLen && len(rest) != 1+2*encodedLen) {
		return EffectID{}, fmt.Errorf("%q is not an effect id (they begin with %q and come from an earlier answer)", s, effectPrefix)
	}
	var id EffectID
	id.Partition = Partition(rest[:1+encodedLen])
	key, err := decode(rest[len(rest)-encodedLen:])
	if err == nil {
		_, err = decode(rest[1 : 1+encodedLen])
	}
	if err != nil {
		return EffectID{}, fmt.Errorf("%q is not an effect id: %v", s, err)
	}
	id.Key = key
	if id.String() != s {
		return EffectID{}, fmt.Errorf("%q is not an effect id in its own spelling", s)
	}
	return id, nil
}

var base = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

const encodedLen = 26

// spelled is a digest in base32 after a prefix.
func spelled(prefix string, d Digest) string {
	var buf [64]byte // on the stack: the result is the only allocation
	return string(base.AppendEncode(append(buf[:0], prefix...), d[:]))
}

func decode(s string) (Digest, error) {
	var d Digest
	b, err := base.DecodeString(s)
	if err == nil && len(b) != len(d) {
		err = fmt.Errorf("%d bytes", len(b))
	}
	copy(d[:], b)
	return d, err
}
