package redisstore

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// address is what the URL of a ledger says.
type address struct {
	scheme   string
	network  string // tcp or unix
	hosts    []string
	db       int
	cluster  bool
	primary  string // Sentinel's name of it
	username string
	password string
	prefix   string
	tls      *tls.Config

	sentinelUsername string
	sentinelPassword string
}

// name is the address for messages, without secrets.
func (a *address) name() string { return a.scheme + "://" + strings.Join(a.hosts, ",") }

var plainPrefix = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{0,64}$`)

// parseURL reads the URL of a ledger. Its errors never hold the URL itself, which may hold a password.
func parseURL(raw string) (*address, error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return nil, errors.New("ledger: a Redis URL begins with redis://, rediss://, redis+unix://, redis-sentinel:// or redis-cluster://")
	}
	// Several hosts with ports are no URL to net/url: it gets the rest with one host of ours.
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	hosts := rest[:end]
	user := ""
	if i := strings.LastIndexByte(hosts, '@'); i >= 0 {
		user, hosts = hosts[:i+1], hosts[i+1:]
	}
	u, err := url.Parse("redis://" + user + "host" + rest[end:])
	if err != nil {
		return nil, fmt.Errorf("ledger: the %s URL cannot be read: escape special characters of the password as %%XX", scheme)
	}
	a := &address{scheme: scheme, network: "tcp", username: u.User.Username()}
	a.password, _ = u.User.Password()
	if err := a.place(hosts, u.Path); err != nil {
		return nil, fmt.Errorf("ledger: %s URL: %w", scheme, err)
	}
	if err := a.parameters(u.RawQuery); err != nil {
		return nil, fmt.Errorf("ledger: %s: %w", a.name(), err)
	}
	return a, nil
}

// place reads hosts and path, which mean different things to each scheme.
func (a *address) place(hosts, path string) (err error) {
	port := "6379"
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if parts[0] == "" {
		parts = nil
	}
	switch a.scheme {
	case "redis", "rediss":
		if strings.Contains(hosts, ",") {
			return errors.New("several hosts need redis-sentinel:// or redis-cluster://")
		}
	case "redis+unix", "unix":
		a.network = "unix"
		if hosts != "" || path == "" || path == "/" {
			return errors.New("write redis+unix:///path/to/socket, with three slashes")
		}
		a.hosts = []string{path}
		return nil
	case "redis-sentinel":
		port = "26379"
		if len(parts) == 0 {
			return errors.New("name the primary that the sentinels watch: redis-sentinel://host1,host2/primary")
		}
		a.primary, parts = parts[0], parts[1:]
	case "redis-cluster":
		a.cluster = true
		if len(parts) > 0 {
			return errors.New("a Cluster has no databases: leave the path away")
		}
	default:
		return errors.New("use redis, rediss, redis+unix, redis-sentinel or redis-cluster")
	}
	if a.scheme == "rediss" {
		a.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if len(parts) > 1 {
		return fmt.Errorf("the path %q says more than a database number", path)
	}
	if len(parts) == 1 {
		if a.db, err = database(parts[0]); err != nil {
			return err
		}
	}
	for host := range strings.SplitSeq(hosts, ",") {
		host, err := withPort(host, port)
		if err != nil {
			return err
		}
		a.hosts = append(a.hosts, host)
	}
	return nil
}

func database(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("database %q is not a number", text)
	}
	return n, nil
}

// withPort completes host, host:port, [::1] or [::1]:port.
func withPort(host, port string) (string, error) {
	u, err := url.Parse("redis://" + host)
	if err != nil || u.Host != host || u.Hostname() == "" {
		return "", fmt.Errorf("%q is not a host or host:port", host)
	}
	if u.Port() != "" {
		port = u.Port()
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

// parameters reads what stands after "?".
func (a *address) parameters(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("what stands after ? cannot be read")
	}
	for name, all := range values {
		value := all[len(all)-1]
		switch name {
		case "prefix":
			if !plainPrefix.MatchString(value) {
				return fmt.Errorf("prefix %q may have letters, digits and _ . : / - only, at most 64", value)
			}
			a.prefix = value
		case "db":
			if a.cluster {
				return errors.New("a Cluster has no databases: leave db away")
			}
			a.db, err = database(value)
		case "tls":
			var on bool
			if on, err = strconv.ParseBool(value); err != nil || (!on && a.scheme == "rediss") || a.network == "unix" {
				return fmt.Errorf("tls=%q: write tls=true, for Sentinel and Cluster", value)
			}
			if on && a.tls == nil {
				a.tls = &tls.Config{MinVersion: tls.VersionTLS12}
			}
		case "sentinel_username":
			a.sentinelUsername = value
		case "sentinel_password":
			a.sentinelPassword = value
		case "ca":
		default:
			return fmt.Errorf("%q is not known after ?: there are prefix, db, ca, tls, sentinel_username and sentinel_password", name)
		}
		if err != nil {
			return err
		}
	}
	return a.trust(values.Get("ca"))
}

// trust makes TLS trust the certificates in a file, instead of the system's.
func (a *address) trust(file string) error {
	switch {
	case file == "":
		return nil
	case a.tls == nil:
		return errors.New("ca needs TLS: use rediss://, or tls=true")
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("ca: %w", err)
	}
	a.tls.RootCAs = x509.NewCertPool()
	if !a.tls.RootCAs.AppendCertsFromPEM(pem) {
		return fmt.Errorf("ca: %s holds no certificate in PEM form", file)
	}
	return nil
}
