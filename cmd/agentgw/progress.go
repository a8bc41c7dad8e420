package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progress shows how far a long command is: on a terminal in one line that is rewritten, elsewhere in a line now and then. It goes to
// stderr, so that the report on stdout stays whole.
type progress struct {
	to       io.Writer
	terminal bool
	total    int
	every    time.Duration
	begin    time.Time
	last     time.Time
	from     int // settled before this run
	shown    bool
}

func (a *app) newProgress(total int) *progress {
	p := &progress{to: a.stderr, total: total, every: 5 * time.Second, begin: time.Now(), from: -1}
	p.last = p.begin
	if f, ok := a.stderr.(*os.File); ok {
		info, err := f.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	if p.terminal {
		p.every = 100 * time.Millisecond
	}
	return p
}

const barWidth = 30

// step is called after each line.
func (p *progress) step(r *redeliverReport) {
	settled := p.total - r.Left
	if p.from < 0 {
		p.from = settled - 1
	}
	now := time.Now()
	if now.Sub(p.last) < p.every && r.Left > 0 || !p.terminal && !p.shown && now.Sub(p.begin) < p.every {
		return
	}
	p.last, p.shown = now, true
	perSecond := float64(settled-p.from) / max(now.Sub(p.begin).Seconds(), 0.001)
	text := fmt.Sprintf("%d of %d, %.0f a second; done already %d, executed %d, refused %d, in doubt %d, failed %d",
		settled, p.total, perSecond, r.Already, r.Executed, r.Refused, r.Doubt, r.Failed)
	if !p.terminal {
		fmt.Fprintln(p.to, text)
		return
	}
	full := barWidth * settled / max(1, p.total)
	fmt.Fprintf(p.to, "\r[%s%s] %s\x1b[K", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), text)
}

// end leaves the line.
func (p *progress) end() {
	if p.terminal && p.shown {
		fmt.Fprintln(p.to)
	}
}
