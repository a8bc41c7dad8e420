package policy

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	units = map[string]time.Duration{
		"d": 24 * time.Hour, "h": time.Hour, "m": time.Minute, "s": time.Second, "ms": time.Millisecond,
	}
	durationText = regexp.MustCompile(`^(?:(\d{1,6}(?:\.\d{1,6})?)d)?(?:(\d{1,9}(?:\.\d{1,6})?)h)?(?:(\d{1,9}(?:\.\d{1,6})?)m)?(?:(\d{1,9}(?:\.\d{1,6})?)s)?(?:(\d{1,9})ms)?$`)

	sizes = map[string]int64{
		"": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
	}
	sizeText = regexp.MustCompile(`^(\d{1,12}) ?([A-Za-z]*)$`)
)

const (
	longest  = 100 * 365 * 24 * time.Hour
	example  = "90s, 15m, 24h, 7d or 1h30m"
	sizeForm = "4MiB, 512KiB or a number of bytes"
)

// ParseDuration reads a policy's duration: numbers with the units d (24 hours), h, m, s and ms, the larger first, as in 7d, 24h, 1m30s.
// A number without a unit is refused, but 0; so is more than a hundred years.
func ParseDuration(s string) (time.Duration, error) {
	if s == "0" {
		return 0, nil
	}
	parts := durationText.FindStringSubmatch(s)
	if s == "" || parts == nil {
		return 0, fmt.Errorf("%q is not a duration; write it as %s", s, example)
	}
	var sum float64
	for i, unit := range []string{"d", "h", "m", "s", "ms"} {
		if parts[i+1] == "" {
			continue
		}
		n, err := strconv.ParseFloat(parts[i+1], 64)
		if err != nil {
			return 0, err
		}
		sum += n * float64(units[unit])
	}
	if sum > float64(longest) {
		return 0, fmt.Errorf("%q is more than a hundred years", s)
	}
	return time.Duration(sum).Round(time.Microsecond), nil
}

// parseSize reads a number of bytes: 4MiB, 512KiB, 1000000.
func parseSize(s string) (int64, error) {
	parts := sizeText.FindStringSubmatch(s)
	if parts == nil {
		return 0, fmt.Errorf("%q is not a size; write it as %s", s, sizeForm)
	}
	unit, ok := sizes[parts[2]]
	n, err := strconv.ParseInt(parts[1], 10, 64)
	if !ok || err != nil || n > (1<<40)/unit {
		return 0, fmt.Errorf("%q is not a size; write it as %s", s, sizeForm)
	}
	return n * unit, nil
}

// formatDuration writes what ParseDuration reads, in the largest units that fit: 7d, 24h, 1h30m.
func formatDuration(d time.Duration) string {
	if d >= 48*time.Hour && d%(24*time.Hour) == 0 {
		return strconv.Itoa(int(d/(24*time.Hour))) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}
