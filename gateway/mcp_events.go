package gateway

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// event is one server-sent event as it came (HTML Living Standard, 9.2).
type event struct {
	raw   []byte // with the empty line that ends it
	id    string
	data  []byte
	retry time.Duration // 0 where it says none
}

// events reads server-sent events.
type events struct{ r *bufio.Reader }

func newEvents(r io.Reader) *events { return &events{bufio.NewReaderSize(r, 64<<10)} }

var errLargeMessage = fmt.Errorf("a message of the server is larger than %d MiB", maxMessage>>20)

// next is the next event; io.EOF at the end, also where the last event was cut off.
func (s *events) next() (event, error) {
	var e event
	hasData := false
	for {
		line, err := readLine(s.r, maxMessage-len(e.raw))
		if err != nil {
			return e, err
		}
		e.raw = append(e.raw, line...)
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			return e, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if hasData {
				e.data = append(e.data, '\n')
			}
			e.data, hasData = append(e.data, value...), true
		case "id":
			e.id = string(value)
		case "retry":
			if ms, err := strconv.Atoi(string(value)); err == nil {
				e.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
}

// readLine reads a line with its break, of at most limit bytes.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if line = append(line, part...); len(line) > limit {
			return nil, errLargeMessage
		}
		switch {
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			if err == io.EOF && len(line) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
}

// newEvent makes an event of a message.
func newEvent(id string, message []byte) event {
	var raw []byte
	if id != "" {
		raw = append(append(append(raw, "id: "...), id...), '\n')
	}
	raw = append(append(append(raw, "event: message\ndata: "...), oneLine(message)...), "\n\n"...)
	return event{raw: raw, id: id, data: message}
}
