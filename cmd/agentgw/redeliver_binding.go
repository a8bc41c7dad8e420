package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"agentgw/gateway"
)

// binding is the line of FILE.done that says whose it is: what is done for one principal of one gateway is not done for another.
type binding struct {
	To        string `json:"to"`            // the gateway's address for agents
	Key       string `json:"key,omitempty"` // a few bytes of the digest of the secret: tells two apart, and does not give it away
	Tenant    string `json:"tenant,omitempty"`
	Principal string `json:"principal,omitempty"`
}

// boundTo is the binding of calls with a secret. Tenant and principal are known where a configuration has them.
func boundTo(to, secret string, known gateway.Principals) binding {
	b := binding{To: to}
	if secret != "" {
		sum := sha256.Sum256([]byte(secret))
		b.Key = hex.EncodeToString(sum[:3])
	}
	for _, p := range known {
		if string(p.Secret) == secret {
			b.Tenant, b.Principal = p.Tenant, p.Name
		}
	}
	return b
}

// readBinding reads a line of FILE.done as a binding; ok is false for what is none.
func readBinding(line []byte) (b binding, ok bool) {
	return b, bytes.HasPrefix(line, []byte(`{"to":`)) && json.Unmarshal(line, &b) == nil && b.To != ""
}

// otherThan says in what the binding is another one; "" where it is the same as far as both are known.
func (b binding) otherThan(now binding) string {
	switch {
	case b.To != now.To:
		return fmt.Sprintf("the gateway at %s, and this run is for %s", b.To, now.To)
	case b.Principal != "" && now.Principal != "" && b.Principal != now.Principal:
		return fmt.Sprintf("the principal %s, and this run is as %s", b.Principal, now.Principal)
	case b.Key != now.Key:
		return "another secret than this run's, so perhaps another principal"
	case b.Tenant != "" && now.Tenant != "" && b.Tenant != now.Tenant:
		return fmt.Sprintf("the tenant %s, and this run is for %s", b.Tenant, now.Tenant)
	}
	return ""
}
