package redistest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// Refusal is an error that Redis itself replied with.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// do sends one command and reads one reply (RESP2). Lists come back as their members, one a line.
func do(ctx context.Context, network, addr string, args ...string) (string, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		conn.SetDeadline(deadline)
	}
	if err := send(conn, args...); err != nil {
		return "", err
	}
	return reply(bufio.NewReader(conn))
}

func send(w io.Writer, args ...string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func reply(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return "", fmt.Errorf("empty reply")
	}
	switch line[0] {
	case '-':
		return "", Refusal(line[1:])
	case '$', '*':
	default:
		return line[1:], nil
	}
	n, err := strconv.Atoi(line[1:])
	if err != nil || n < 0 {
		return "", err
	}
	if line[0] == '$' {
		body := make([]byte, n+2)
		_, err := io.ReadFull(r, body)
		return string(body[:max(n, 0)]), err
	}
	members := make([]string, n)
	for i := range members {
		if members[i], err = reply(r); err != nil {
			return "", err
		}
	}
	return strings.Join(members, "\n"), nil
}
