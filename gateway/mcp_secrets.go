package gateway

import (
	"encoding/base64"
	"slices"
	"strings"

	"agentgw/canonicalize"
)

// tellsSecret reports whether a principal's secret stands in a message's _meta, from where a server would get it.
func (d *doors) tellsSecret(m *rpc) bool {
	meta, _ := m.params.Member("_meta")
	return slices.ContainsFunc(meta.Members, func(it canonicalize.Member) bool {
		text := it.Value.Text
		return it.Value.Kind == canonicalize.String && (d.keys.bySecret(text) != nil || d.keys.bySecret(bearer(text)) != nil)
	})
}

// said is what a server said, for an error or the log: not all of it, and without the secrets that it was sent, which some repeat.
func (s *mcpServer) said(b []byte) string {
	const enough = 300
	text := string(b)
	for _, secret := range s.upstream.secrets() {
		text = strings.ReplaceAll(text, secret, Secret(secret).String())
	}
	if len(text) > enough {
		text = strings.ToValidUTF8(text[:enough], "") + "…"
	}
	return text
}

// secrets are what an upstream is sent and nobody else may see, the longest first.
func (u *Upstream) secrets() (secrets []string) {
	for _, h := range u.Headers {
		_, token, _ := strings.Cut(h.Value, " ")
		secrets = append(secrets, h.Value, token)
	}
	if u.MCP != nil && u.MCP.URL != nil && u.MCP.URL.User != nil {
		password, _ := u.MCP.URL.User.Password()
		secrets = append(secrets, password, base64.StdEncoding.EncodeToString([]byte(u.MCP.URL.User.Username()+":"+password)))
	}
	const short = 6 // words that stand everywhere
	secrets = slices.DeleteFunc(secrets, func(text string) bool { return len(text) < short })
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return secrets
}
