package main

import (
	"io"
	"net/http"
	"time"
)

// behindCutCmd is `serve` over a ledger that the battery of another process cuts off: so a gateway can be killed within a write on every
// kind of ledger. It belongs to `verify` and is not shown.
type behindCutCmd struct {
	Config string `required:""`
	Cut    string `required:"" help:"Where the battery is asked."`
}

// Run serves until it is killed.
func (c *behindCutCmd) Run(a *app) error {
	config, err := loadConfig(c.Config, a.env)
	if err != nil {
		return err
	}
	store, err := openStore(config.ledger, config.redis)
	if err != nil {
		return err
	}
	return a.serve(config, cutStore{store, farCut{c.Cut}}, time.Second)
}

// farCut is a cut in another process.
type farCut struct{ url string }

// write implements cutter. Where nobody answers there is no battery any more.
func (c farCut) write() (before, after bool) {
	word := c.ask("/write")
	return word == "before", word == "after"
}

// fall implements cutter: it waits for the kill.
func (c farCut) fall() { c.ask("/fall") }

func (farCut) isDown() bool { return false }

func (c farCut) ask(path string) string {
	res, err := http.Post(c.url+path, "text/plain", nil)
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	word, _ := io.ReadAll(res.Body)
	return string(word)
}

// ServeHTTP answers a farCut.
func (c *cut) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/write":
		if before, after := c.write(); before {
			io.WriteString(w, "before")
		} else if after {
			io.WriteString(w, "after")
		}
	case "/fall":
		c.fall()
		<-r.Context().Done() // the gateway is killed here
	}
}
