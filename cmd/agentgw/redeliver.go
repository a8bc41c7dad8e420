package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"agentgw"
)

type redeliverCmd struct {
	File string `arg:"" help:"JSON lines: on each a native call, {\"tool\", \"arguments\", \"idempotency_key\", \"context\", …}."`

	URL    string `name:"url" help:"Address of a running gateway. Without it, the one that --config tells of; where that does not run, the calls are made in this process."`
	Config string `short:"c" default:"agentgw.yaml" help:"Configuration file." placeholder:"FILE"`
	Key    string `help:"Secret to present; env:NAME reads it from the environment. AGENTGW_KEY is used without it."`

	At             int  `default:"8" help:"Calls at a time; 1 keeps the order of the file."`
	Tries          int  `default:"10" help:"How often a call is made that the gateway cannot decide now, or that is being worked on."`
	SkipUnreadable bool `help:"Leave out lines that cannot be read, instead of sending nothing."`
	Unguarded      bool `help:"Send also what no policy guards. Whether it was done before is not known: it is sent once more."`
}

// Help is shown by `agentgw redeliver --help`.
func (redeliverCmd) Help() string {
	return `Sends a bulk of calls again, after an incident or from a queue: what was done is not done again, what is missing is done. FILE.done
beside the file keeps what is settled; after an interruption the same command goes on where it was. Remove FILE.done to begin anew: that
repeats nothing that a policy guards. It is of one principal at one gateway, and refused for another. Calls of one object that depend on each other need --at 1: from the first of them that is missing on they are done as they
stand in the file.

The exit code is 0 where every line is done, 1 where one is refused, in doubt or failed, 2 where one cannot be read; then nothing was sent.`
}

// Run sends what is left of the file and reports on all of it.
func (c *redeliverCmd) Run(a *app) error {
	if c.At < 1 || c.Tries < 1 {
		return usagef("--at and --tries begin at 1")
	}
	bulk, err := scanBulk(c.File)
	if err != nil {
		return err
	}
	if len(bulk.unreadable) > 0 && !c.SkipUnreadable {
		return usagef("%w\nnothing was sent; correct the file, or leave such lines out with --skip-unreadable", errors.Join(bulk.unreadable...))
	}
	if bulk.lines == 0 && len(bulk.unreadable) == 0 {
		return usagef("%s is empty: there is nothing to send", c.File)
	}
	door, err := a.toAgents(c.URL, c.Config, c.Key)
	if err != nil {
		return err
	}
	defer door.end()
	if err := door.admitted(a.ctx); err != nil {
		return err
	}
	door.wide(c.At)
	done, err := openJournal(c.File+".done", bulk, door.known)
	if err != nil {
		return err
	}
	if !done.bound && len(done.known) > 0 {
		fmt.Fprintf(a.stderr, "agentgw: %s.done is of an earlier version and does not say whose it is; it is taken as this principal's at this gateway\n", c.File)
	}
	r := &redelivery{cmd: c, door: door, done: done, report: newRedeliverReport(bulk, done), progress: a.newProgress(bulk.lines), moved: map[agentgw.Partition]int{}}
	for _, was := range done.known {
		r.move(was)
	}
	err = errors.Join(r.all(a.ctx), done.close())
	r.progress.end()
	return errors.Join(err, a.showRedelivered(c.File, r.report))
}

// admitted fails where no call can get through: the secret is wrong, or this is another door. A call without a body tells, and does nothing.
func (c *client) admitted(ctx context.Context) error {
	answer, err := c.do(ctx, http.MethodPost, "/v1/calls", nil)
	if err != nil || answer.hint == "" {
		return nil // what else is wrong is said of each line
	}
	return usage(answer.problem())
}

// wide lets so many calls at a time keep their connections.
func (c *client) wide(at int) {
	if t, ok := c.http.(*http.Transport); ok {
		t = t.Clone()
		t.MaxIdleConnsPerHost = at
		c.http = t
	}
}

// redelivery is one run over a file.
type redelivery struct {
	cmd  *redeliverCmd
	door *client
	done *journal

	mu       sync.Mutex
	report   *redeliverReport
	progress *progress
	moved    map[agentgw.Partition]int // the first line that this redelivery, earlier runs included, executed on an object
}

// move notes what a line did to its object.
func (r *redelivery) move(was mark) {
	id, err := agentgw.ParseEffectID(was.Effect)
	if was.Is != isExecuted || err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if first, ok := r.moved[id.Partition]; !ok || was.Line < first {
		r.moved[id.Partition] = was.Line
	}
}

// mode is how a line is sent. What was missing of an object's history is missing from there on: an operation that comes after one that
// this redelivery executed was not done before, even if an earlier one has the same key, so the policy judges it as any other call.
func (r *redelivery) mode(l *bulkLine, checked *decision) string {
	if checked.Effect == nil || checked.Decision != "executed" && checked.Decision != "replayed" {
		return "redeliver" // nothing of its own is on record
	}
	id, err := agentgw.ParseEffectID(checked.Effect.ID)
	r.mu.Lock()
	defer r.mu.Unlock()
	if first, ok := r.moved[id.Partition]; err == nil && ok && first < l.number {
		return "execute"
	}
	return "redeliver"
}

// all carries the lines that are not settled, so many at a time. When ctx ends, what is under way is finished and no more begun.
func (r *redelivery) all(ctx context.Context) error {
	over, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	lines := make(chan *bulkLine)
	var workers sync.WaitGroup
	for range r.cmd.At {
		workers.Go(func() {
			for l := range lines {
				if err := r.one(over, l); err != nil {
					giveUp(err)
				}
			}
		})
	}
	err := eachBulkLine(r.cmd.File, func(l *bulkLine) error {
		if r.done.settled(l) {
			return nil
		}
		select {
		case lines <- l:
			return nil
		case <-over.Done():
			return context.Cause(over)
		}
	})
	close(lines)
	workers.Wait()
	if cause := context.Cause(over); cause != nil {
		err = cause
	}
	if errors.Is(err, context.Canceled) {
		return nil // the report says what is left
	}
	return err
}

// one carries a line and writes down what became of it. The error says that it cannot be written down: then nothing more may be sent.
func (r *redelivery) one(ctx context.Context, l *bulkLine) error {
	was, left := r.carry(ctx, l)
	if left {
		return nil
	}
	if err := r.done.write(was); err != nil {
		return err
	}
	r.move(was)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.add(was)
	r.progress.step(r.report)
	return nil
}

// carry finds out whether a policy guards the call, and sends it. left: it was interrupted before anything is known.
func (r *redelivery) carry(ctx context.Context, l *bulkLine) (was mark, left bool) {
	d, left := r.ask(ctx, l, "check", r.cmd.Tries)
	switch {
	case left:
		return was, true
	case d.Decision == "" || d.Decision == "unavailable":
		return l.mark(isFailed, d), false
	case d.Decision != "passed":
		return r.guarded(ctx, l, d)
	case r.done.begun(l):
		d.Detail = "No policy guards this call, and an earlier run was interrupted while it was under way. Look up whether it was done."
		return l.mark(isDoubt, d), false
	case !r.cmd.Unguarded:
		d.Detail = "No policy guards this call, so whether it was done before is not known. Nothing was sent; --unguarded sends it."
		return l.mark(isRefused, d), false
	}
	if err := r.done.write(l.mark(isBegun, nil)); err != nil {
		return l.mark(isFailed, &decision{Detail: err.Error()}), false
	}
	d, left = r.ask(context.WithoutCancel(ctx), l, "redeliver", 1)
	if d.Decision == "" {
		return l.mark(isDoubt, d), left
	}
	return l.mark(categoryOf(d), d), left
}

// guarded sends a call that a policy guards. That it was missing is written down before: a run that is killed under way leaves to the next
// one a line that is done, and a history of its object that is not.
func (r *redelivery) guarded(ctx context.Context, l *bulkLine, checked *decision) (was mark, left bool) {
	switch {
	case checked.Decision == "executed":
		if err := r.done.write(l.mark(isBegun, nil)); err != nil {
			return l.mark(isFailed, &decision{Detail: err.Error()}), false
		}
	case r.done.missed[l.number]:
		r.move(l.mark(isExecuted, checked))
	}
	d, left := r.ask(ctx, l, r.mode(l, checked), r.cmd.Tries)
	return l.mark(categoryOf(d), d), left
}

// ask makes a call until it is decided. Guarded calls can be made again whatever became of the last one. left: ctx ended while it waited.
func (r *redelivery) ask(ctx context.Context, l *bulkLine, mode string, tries int) (d *decision, left bool) {
	for try := 1; ; try++ {
		var after time.Duration
		d, after = r.call(l, mode)
		undecided := d.Decision == "" || d.Decision == "unavailable" || d.Decision == "in_flight" && mode != "check"
		if !undecided || try >= tries {
			return d, false
		}
		if after == 0 {
			after = min(100*time.Millisecond<<try, 5*time.Second)
		}
		select {
		case <-time.After(after):
		case <-ctx.Done():
			return d, true
		}
	}
}

// call makes a call once. Its context is its own: an interruption lets what is under way end. A decision "" means that no answer came.
func (r *redelivery) call(l *bulkLine, mode string) (d *decision, after time.Duration) {
	answer, err := r.door.do(context.Background(), http.MethodPost, "/v1/calls", l.body(mode))
	if err != nil {
		return &decision{Detail: err.Error()}, 0
	}
	d = &decision{}
	if err := json.Unmarshal(answer.body, d); err != nil || d.Decision == "" {
		return &decision{Detail: answer.problem().Error()}, 0
	}
	if s, err := strconv.Atoi(answer.header.Get("Retry-After")); err == nil {
		after = time.Duration(s) * time.Second
	}
	return d, after
}

// Categories of the report.
const (
	isBegun    = "begun" // the call was missing, and is under way
	isAlready  = "done_already"
	isExecuted = "executed"
	isRefused  = "refused"
	isDoubt    = "in_doubt"
	isFailed   = "failed"
)

func categoryOf(d *decision) string {
	switch d.Decision {
	case "replayed", "expired":
		return isAlready
	case "executed", "passed":
		return map[string]string{"succeeded": isExecuted, "indeterminate": isDoubt}[d.Outcome] + map[string]string{"failed": isFailed}[d.Outcome]
	case "indeterminate", "in_flight":
		return isDoubt
	case "unavailable", "":
		return isFailed
	}
	return isRefused
}
