package gateway

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"agentgw"
)

// hopByHop reports whether a header, by its canonical name, belongs to one connection (RFC 9110, 7.6.1), as those do that Connection
// names.
func hopByHop(h http.Header, name string) bool {
	switch name {
	case "Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	for _, line := range h["Connection"] {
		for other := range strings.SplitSeq(line, ",") {
			if http.CanonicalHeaderKey(strings.TrimSpace(other)) == name {
				return true
			}
		}
	}
	return false
}

// liveHeaders belong to the caller of the attempt alone.
var liveHeaders = []string{"Date", "Set-Cookie"}

// incoming reads an answer up to maxBytes (0: 4 MiB). The rest of a larger one, and a stream of events, are left to the door. An answer
// that breaks off is an error.
func incoming(res *http.Response, maxBytes int64) (*Incoming, error) {
	if maxBytes <= 0 {
		maxBytes = defaultMaxAnswer
	}
	in := &Incoming{Answer: &agentgw.Answer{Status: res.StatusCode}}
	in.Answer.Header, in.Live = endToEnd(res.Header)
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		in.Rest = res.Body // may never end
		return in, nil
	}
	body, err := readUpTo(res, maxBytes+1)
	if err != nil {
		res.Body.Close()
		return nil, fmt.Errorf("the answer (status %d) broke off after %d bytes: %w", res.StatusCode, len(body), err)
	}
	if int64(len(body)) > maxBytes {
		in.Answer.Body = body[:maxBytes:maxBytes]
		in.Rest = rest{io.MultiReader(bytes.NewReader(body[maxBytes:]), res.Body), res.Body}
		return in, nil
	}
	in.Answer.Body = body
	in.Answer.Trailer = headerLines(nil, res.Trailer, nil)
	return in, res.Body.Close()
}

// readUpTo reads at most n bytes, in one allocation where the answer says how many there are.
func readUpTo(res *http.Response, n int64) ([]byte, error) {
	if size := res.ContentLength; size > 0 && size < n && res.Request.Method != http.MethodHead {
		body := make([]byte, size)
		read, err := io.ReadFull(res.Body, body)
		return body[:read], err
	}
	return io.ReadAll(io.LimitReader(res.Body, n))
}

type rest struct {
	io.Reader
	io.Closer
}

// endToEnd splits the headers of an answer into those to keep and those for this caller alone.
func endToEnd(h http.Header) (kept, live []agentgw.Header) {
	for _, name := range liveHeaders {
		for _, value := range h[name] {
			live = append(live, agentgw.Header{Name: name, Value: value})
		}
	}
	kept = headerLines(make([]agentgw.Header, 0, len(h)), h, func(name string) bool { return slices.Contains(liveHeaders, name) || hopByHop(h, name) })
	return kept, live
}

// headerLines appends the lines of a header sorted by name, without those that skip says; lines of one name keep their order.
func headerLines(lines []agentgw.Header, h http.Header, skip func(name string) bool) []agentgw.Header {
	var few [24]string // on the stack
	names := few[:0]
	for name := range h {
		if skip == nil || !skip(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range h[name] {
			lines = append(lines, agentgw.Header{Name: name, Value: value})
		}
	}
	return lines
}
