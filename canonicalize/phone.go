package canonicalize

import "strconv"

type phoneType struct{}

func newPhone(params []string, d Defaults) (Type, error) { return &phoneType{}, nil }

func (t *phoneType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	s, err := scalar(v, "a phone", "")
	if err != nil {
		return nil, err
	}
	return strconv.AppendQuote(dst, s), nil
}
