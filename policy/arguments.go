package policy

import (
	"reflect"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"agentgw/canonicalize"
)

// arguments are a CEL map over the members of an object. A member is turned into CEL's values when an expression looks at it: most
// expressions look at one of many.
type arguments struct {
	members []canonicalize.Member
}

// argumentsOf is v for CEL; what is no object will be refused by whoever reads the call's fields.
func argumentsOf(v canonicalize.Value) any {
	if v.Kind != canonicalize.Object {
		return toCEL(v)
	}
	return arguments{v.Members}
}

var _ traits.Mapper = arguments{}

// Find is part of traits.Mapper.
func (a arguments) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	for i := range a.members {
		if a.members[i].Name == string(name) {
			return types.DefaultTypeAdapter.NativeToValue(toCEL(a.members[i].Value)), true
		}
	}
	return nil, false
}

// Get is part of traits.Mapper.
func (a arguments) Get(key ref.Val) ref.Val {
	if v, ok := a.Find(key); ok {
		return v
	}
	return types.NewErr("no such key: %v", key.Value())
}

// Contains is part of traits.Mapper.
func (a arguments) Contains(key ref.Val) ref.Val {
	_, ok := a.Find(key)
	return types.Bool(ok)
}

// Size is part of traits.Mapper.
func (a arguments) Size() ref.Val { return types.Int(len(a.members)) }

// Type is part of ref.Val.
func (a arguments) Type() ref.Type { return types.MapType }

// whole is the map with all members turned, for expressions that want it as one.
func (a arguments) whole() traits.Mapper {
	all := toCEL(canonicalize.Value{Kind: canonicalize.Object, Members: a.members})
	return types.NewStringInterfaceMap(types.DefaultTypeAdapter, all.(map[string]any))
}

// Iterator is part of traits.Mapper.
func (a arguments) Iterator() traits.Iterator { return a.whole().Iterator() }

// Equal is part of ref.Val.
func (a arguments) Equal(other ref.Val) ref.Val { return a.whole().Equal(other) }

// Value is part of ref.Val.
func (a arguments) Value() any { return a.whole().Value() }

// ConvertToType is part of ref.Val.
func (a arguments) ConvertToType(t ref.Type) ref.Val { return a.whole().ConvertToType(t) }

// ConvertToNative is part of ref.Val.
func (a arguments) ConvertToNative(t reflect.Type) (any, error) { return a.whole().ConvertToNative(t) }
