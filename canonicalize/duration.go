package canonicalize

import "strconv"

type durationType struct{}

func newDuration(params []string, d Defaults) (Type, error) { return &durationType{}, nil }

func (t *durationType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	s, err := scalar(v, "a duration", "")
	if err != nil {
		return nil, err
	}
	return strconv.AppendQuote(dst, s), nil
}
