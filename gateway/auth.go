package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"

	"agentgw"
)

// defaultTenant is the tenant of every caller where no principals are configured.
const defaultTenant = "default"

// Secret is a text that no log or message may show.
type Secret string

// String hides the secret; a conversion to string shows it.
func (s Secret) String() string { return "[hidden]" }

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return "[hidden]" }

// MarshalText hides the secret from encoders and from log/slog.
func (s Secret) MarshalText() ([]byte, error) { return []byte("[hidden]"), nil }

// Principal is a credential: an agent, a robot, a script, or an operator.
type Principal struct {
	Name       string
	Secret     Secret
	Tenant     string   // an operator has none: operators see all tenants
	Operations []string // globs over operation names ("invoice.*"); none: all operations
}

// Principals are all credentials of one listener. Without any, only the own machine may call, as tenant "default".
type Principals []Principal

// Allowed reports whether a principal may do an operation. A principal without globs may do all; without principals everybody may.
func (ps Principals) Allowed(principal, operation string) bool {
	for i := range ps {
		if ps[i].Name == principal {
			return ps[i].allows(operation)
		}
	}
	return len(ps) == 0
}

func (p *Principal) allows(operation string) bool {
	for _, glob := range p.Operations {
		if ok, err := path.Match(glob, operation); ok && err == nil {
			return true
		}
	}
	return len(p.Operations) == 0
}

// keyring finds principals by their secrets.
type keyring struct {
	principals Principals
	sums       [][sha256.Size]byte // of their secrets, in the same order
}

func newKeyring(ps Principals) *keyring {
	k := &keyring{principals: ps}
	for i := range ps {
		k.sums = append(k.sums, sha256.Sum256([]byte(ps[i].Secret)))
	}
	return k
}

// identify finds who sent a request; the decision is a refusal, nil where there is none.
func (k *keyring) identify(r *http.Request) (*Principal, *agentgw.Decision) {
	if len(k.principals) == 0 {
		if why := foreign(r); why != "" {
			return nil, &agentgw.Decision{Verdict: agentgw.Denied, Reason: reasonUnauthenticated, Detail: why}
		}
		return &Principal{Tenant: defaultTenant}, nil
	}
	if p := k.bySecret(presented(r.Header)); p != nil {
		return p, nil
	}
	return nil, &agentgw.Decision{Verdict: agentgw.Denied, Reason: reasonUnauthenticated}
}

// presented is the secret that a request carries. Agentgw-Key goes before Authorization, which may belong to the upstream.
func presented(h http.Header) string {
	if keys := h.Values("Agentgw-Key"); len(keys) == 1 {
		return keys[0]
	} else if len(keys) > 1 {
		return ""
	}
	if auth := h.Values("Authorization"); len(auth) == 1 {
		return bearer(auth[0])
	}
	return ""
}

// bearer is the token of an RFC 6750 Authorization value, "" where it is another scheme's.
func bearer(value string) string {
	scheme, token, _ := strings.Cut(value, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// bySecret compares with all secrets, hashed to one length, so that the time it takes says nothing about any of them.
func (k *keyring) bySecret(secret string) *Principal {
	if secret == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(secret))
	var found *Principal
	for i := range k.sums {
		if subtle.ConstantTimeCompare(sum[:], k.sums[i][:]) == 1 {
			found = &k.principals[i]
		}
	}
	return found
}

// foreign says why a request does not come from the own machine; "" where it does. A browser page that had its name re-bound to
// 127.0.0.1 shows itself by Host or Origin (DNS rebinding), a page of another site by Origin.
func foreign(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil && !loopback(host) {
		return "No principals are configured, so only this machine may call; configure principals with secrets to let others in."
	}
	if !loopback(hostname(r.Host)) {
		return "No principals are configured, so the Host header must name this machine (127.0.0.1 or localhost)."
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || !loopback(u.Hostname()) {
			return "No principals are configured, so pages of other origins may not call."
		}
	}
	return ""
}

func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

// loopback reports whether a host is this machine under its own name.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
