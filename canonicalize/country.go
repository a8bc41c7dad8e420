package canonicalize

import "strconv"

type countryType struct{}

func newCountry(params []string, d Defaults) (Type, error) { return &countryType{}, nil }

func (t *countryType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	s, err := scalar(v, "a country", "")
	if err != nil {
		return nil, err
	}
	return strconv.AppendQuote(dst, s), nil
}
