package canonicalize

import "strconv"

type moneyType struct{}

func newMoney(params []string, d Defaults) (Type, error) { return &moneyType{}, nil }

func (t *moneyType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	s, err := scalar(v, "a money", "")
	if err != nil {
		return nil, err
	}
	return strconv.AppendQuote(dst, s), nil
}
