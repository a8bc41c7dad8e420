package canonicalize

import "strconv"

type quantityType struct{}

func newQuantity(params []string, d Defaults) (Type, error) { return &quantityType{}, nil }

func (t *quantityType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	s, err := scalar(v, "a quantity", "")
	if err != nil {
		return nil, err
	}
	return strconv.AppendQuote(dst, s), nil
}
