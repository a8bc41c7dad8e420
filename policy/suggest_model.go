package policy

import (
	"fmt"

	"agentgw/canonicalize"
)

// advised asks the adviser and takes what it may decide: the role of free text. Everything that the schema or a reference's look has
// settled stays; so does an operation's last key field.
func (s *suggester) advised(op *DraftOperation, advise Adviser) error {
	advice, err := advise(s.tool, *op)
	if err != nil {
		return fmt.Errorf("tool %s: %w", s.tool.Name, err)
	}
	free := map[string]bool{}
	for _, p := range s.schema.Properties {
		role, _ := s.roleOf(p)
		free[p.Name] = role == roleMeaning || role == roleProse
	}
	for _, p := range s.schema.Properties {
		a, ok := advice[p.Name]
		if !ok || !free[p.Name] {
			continue
		}
		if err := op.move(p, a); err != nil {
			return fmt.Errorf("tool %s: %w", s.tool.Name, err)
		}
	}
	return nil
}

// move puts an argument where the advice wants it.
func (op *DraftOperation) move(p canonicalize.Property, a Advice) error {
	lists := map[string]*[]DraftField{"key": &op.Key, "meaning": &op.Key, "must_match": &op.Match, "ignore": &op.Left}
	to, ok := lists[a.Role]
	if !ok {
		return fmt.Errorf("the model gave %s the role %q; roles are key, must_match, meaning and ignore", p.Name, a.Role)
	}
	if len(op.Key) == 1 && op.Key[0].Name == p.Name && to != &op.Key {
		return nil
	}
	for _, from := range []*[]DraftField{&op.Key, &op.Match, &op.Left} {
		for i, f := range *from {
			if f.Name != p.Name {
				continue
			}
			*from = append((*from)[:i:i], (*from)[i+1:]...)
			f.Type, f.Why, f.ByModel = p.Reading()+"?", a.Why, true
			if a.Role == "meaning" {
				f.Type = "auto(meaning)?"
			}
			*to = append(*to, f)
			return nil
		}
	}
	return nil
}
