package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	listTimeout = 30 * time.Second
	maxPages    = 100
	maxTools    = 10_000 // of one server: what it offers beyond them, or beyond maxMessage bytes, is passed on and guarded, and not remembered
)

// toolPage is a result of tools/list, read once: it may be long.
type toolPage struct {
	result     []byte
	start, end int      // of the list of tools in it
	tools      [][]byte // their definitions
	next       []byte   // cursor of the page behind it; nil at the end
}

// readToolPage is nil where a result is none of tools/list.
func readToolPage(result []byte) *toolPage {
	all, err := membersOf(result)
	if err != nil {
		return nil
	}
	p := &toolPage{result: result}
	for _, m := range all {
		switch value := result[m.start:m.end:m.end]; m.name {
		case "tools":
			p.start, p.end = m.start, m.end
		case "nextCursor":
			if string(value) != "null" {
				p.next = value
			}
		}
	}
	if p.tools, err = itemsOf(result[p.start:p.end:p.end]); err != nil {
		return nil
	}
	return p
}

// with puts a definition behind those of the page. result is the page without what a principal may not use; nil: as it came.
func (p *toolPage) with(result, definition []byte) []byte {
	if result == nil {
		result = p.result
	}
	if len(p.tools) > 0 {
		definition = append([]byte(","), definition...)
	}
	return splice(result, p.end-1, p.end-1, definition)
}

// asker carries a request that has no side effect.
type asker func(ctx context.Context, message []byte) (*mcpReply, error)

var errEndless = errors.New("its list of tools has no end")

// eachPage asks for all pages of tools/list, in at most 30 s, and hands them over. like is a message whose protocol _meta is used for the
// requests; nil for none.
func (s *mcpServer) eachPage(ctx context.Context, ask asker, like []byte, take func(*toolPage)) error {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	cursor, tools := []byte(nil), 0
	for range maxPages {
		page, err := s.page(ctx, ask, like, cursor)
		if err != nil {
			return err
		}
		take(page)
		if cursor = page.next; cursor == nil {
			return nil
		}
		if tools += len(page.tools); tools > maxTools {
			break
		}
	}
	return fmt.Errorf("%w: %d so far", errEndless, tools)
}

// page asks for one page of tools/list.
func (s *mcpServer) page(ctx context.Context, ask asker, like, cursor []byte) (*toolPage, error) {
	params := []byte("{}")
	if meta := protocolMeta(memberOf(memberOf(like, "params"), "_meta")); meta != nil {
		params = setMember(params, "_meta", meta)
	}
	if cursor != nil {
		params = setMember(params, "cursor", cursor)
	}
	reply, err := ask(ctx, setMember([]byte(`{"jsonrpc":"2.0","id":`+newID()+`,"method":"tools/list"}`), "params", params))
	switch {
	case err != nil:
		return nil, err
	case reply.failure != nil:
		return nil, fmt.Errorf("tools/list is refused: %s", s.said(reply.failure))
	case reply.result == nil:
		return nil, fmt.Errorf("tools/list is answered with status %d: %s", reply.status, s.said(reply.body))
	}
	page := readToolPage(reply.result)
	if page == nil {
		return nil, errors.New("the result of tools/list has no list of tools")
	}
	return page, nil
}
