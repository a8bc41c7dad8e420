package main

// mutant is one rule, broken.
type mutant struct {
	Rule     string // in words, as it should be
	File     string
	Old, New string   // Old occurs once in the file
	And      []edit   // where one guard stands behind another: what else has to go
	Guards   []string // arguments of go test beside the usual ones; nil: the usual ones
}

type edit struct{ File, Old, New string }

// guards are the runs of go test that may notice, the quick ones first.
func (m mutant) guards() [][]string {
	if m.Guards != nil {
		return [][]string{m.Guards}
	}
	return [][]string{
		{"./ledger", "./policy", "./canonicalize", "-skip", "TestDiagram"}, // the drawing changes with the table
		{"./simulate"},
		{"./gateway", "-run", "TestFaults|TestSpool|TestRoundTrips|TestStormRedis"},
	}
}

const (
	machine = "ledger/machine.go"
	claim   = "ledger/claim.go"
	settle  = "ledger/settle.go"
	book    = "ledger/ledger.go"
	holds   = "ledger/budget.go"
	oper    = "ledger/operator.go"
	judge   = "policy/judge.go"
	flow    = "gateway/gateway.go"
	attempt = "gateway/attempt.go"
	token   = "gateway/token.go"
	sender  = "gateway/upstream.go"
)

// failover are tests on real servers that die.
func failover(tests string) []string { return []string{"./ledger/redisstore", "-run", tests} }

// mutants are the rules of the pipeline, in the order of the contract's promises.
var mutants = []mutant{
	{Rule: "a lapsed lease leaves a doubt", File: machine, Old: "evLapse: agentgw.StateIndeterminate,", New: "evLapse: agentgw.StateFailed,"},
	{Rule: "a doubt is not retried unasked", File: judge, Old: "op.Rule.OnIndeterminate == agentgw.DoubtRetry", New: "true"},
	{Rule: "a running attempt is not overtaken", File: judge, Old: "		if !e.Lapsed(m.Now) {\n			return running(e, m.Now)", New: "		if e.Lapsed(m.Now) {\n			return running(e, m.Now)"},
	{Rule: "a conflict is told", File: judge, Old: "len(d) > 0 && !freed(op, call, m) {", New: "len(d) < 0 {"},
	{Rule: "a caller's key of another effect is a conflict", File: judge, Old: "b != nil && b.ID != op.ID", New: "b != nil && b.ID == op.ID && b.Base == 1"},
	{Rule: "a success is replayed until its time is over", File: "effect.go", Old: "now.Before(e.Gone)", New: "!now.Before(e.Gone)"},
	{Rule: "a tombstone answers after ttl", File: judge, Old: "!m.Now.Before(e.Expires)", New: "false"},
	{Rule: "a token is for its own ordinal", File: judge, Old: "t.Ordinal == e.Ordinal:", New: "t.Ordinal <= e.Ordinal:"},
	{Rule: "a token is for its own effect and generation", File: judge, Old: "t.ID == op.ID && t.Base == e.Base && m.Now.Before(t.Expires)", New: "m.Now.Before(t.Expires)", Guards: []string{"./gateway", "./simulate"}},
	{Rule: "a token lives ten minutes", File: judge, Old: "t.Base == e.Base && m.Now.Before(t.Expires)", New: "t.Base == e.Base"},
	{Rule: "repeat: never is never", File: judge, Old: "t != nil && r.Repeat != agentgw.RepeatNever", New: "t != nil"},
	{Rule: "a redelivery repeats nothing", File: judge, Old: "call.Mode == agentgw.Redeliver", New: "false"},
	{Rule: "under its caller's key a success is replayed whatever happened since", File: judge, Old: "b != nil && b.Base == e.Base {", New: "false {"},
	{Rule: "a transition starts only from its states", File: judge, Old: "op.Rule.Pattern == agentgw.Transition && !startable", New: "false && !startable"},
	{Rule: "a transition happens again only after a later one", File: judge, Old: "m.Entity.Moves > e.Move", New: "m.Entity.Moves >= e.Move"},
	{Rule: "a held entity locks out its rivals", File: judge, Old: "	if m.Holder != nil {\n		return held(m)\n	}\n	if own.Way", New: "	if own.Way"},
	{Rule: "an older value does not overwrite a newer one", File: judge, Old: "op.Newer < newest", New: "false"},
	{Rule: "a value in doubt counts for the next", File: machine, Old: "		next.Answer = nil\n		next.Newer, next.Pending = max(next.Newer, next.Pending), \"\"", New: "		next.Answer = nil\n		next.Pending = \"\""},
	{Rule: "attempts are counted", File: judge, Old: "len(recent) < b.Count", New: "true"},
	{Rule: "a budget is counted before sending", File: holds, Old: "b.count()+n > limit.Count", New: "false"},
	{Rule: "a failure returns its place in the budget", File: holds, Old: "if outcome == agentgw.Succeeded {\n		index", New: "if true {\n		index"},
	{Rule: "worded alike is asked about", File: judge, Old: "len(m.Similar) > 0 && !another(op, m)", New: "false"},
	{Rule: "a failure frees the effect", File: machine, Old: "evSucceed: agentgw.StateSucceeded, evFail: agentgw.StateFailed, evDoubt: agentgw.StateIndeterminate,\n	},\n	agentgw.StateIndeterminate", New: "evSucceed: agentgw.StateSucceeded, evFail: agentgw.StateIndeterminate, evDoubt: agentgw.StateIndeterminate,\n	},\n	agentgw.StateIndeterminate"},
	{Rule: "a failed repeat falls back to the success", File: settle, Old: "res.Outcome == agentgw.Failed && c.prior != nil {", New: "false {"},
	{Rule: "a retried doubt that fails stays one", File: machine, Old: "e.Doubted && res.Outcome == agentgw.Failed", New: "false"},
	{Rule: "a retried doubt is in flight, not only claimed", File: machine, Old: "	case way == agentgw.Retry:\n		return evRetry", New: "	case way == agentgw.Retry && !reserve:\n		return evRetry"},
	{Rule: "freed records hold no must_match values", File: machine, Old: "return f.Role == agentgw.RoleMatch })\n	e.Holds", New: "return false })\n	e.Holds"},
	{Rule: "a late writer needs its own claim", File: settle, Old: "found.Claim == c.Claim()", New: "true"},
	{Rule: "a fence that is not the claim's settles nothing", File: settle, Old: "e == nil || e.Fence != fence {", New: "e == nil {", Guards: []string{"./gateway", "./simulate"}},
	{Rule: "after an operator's word the attempt's is evidence", File: machine, Old: "next.Claim, next.Why = claim, why", New: "next.Why = why"},
	{Rule: "a lapse is written before it is told", File: book, Old: "	if !j.Lapse {\n		return false, nil\n	}", New: "	return false, nil"},
	{Rule: "the version an operator saw is checked", File: oper, Old: "version != 0 && version != e.Version", New: "false", Guards: []string{"./gateway", "./cmd/agentgw", "-run", "Admin|Operator|Effects|Script"}},
	{Rule: "the machine has the last word on a claim", File: claim, Old: "	if !ok {\n		return false, fmt.Errorf(\"%s is", New: "	if !ok && t.dry {\n		return false, fmt.Errorf(\"%s is", Guards: []string{"./ledger", "-run", "TestJudgementThatErrs"}},
	{Rule: "sends count beyond the life of the success", File: machine, Old: "return max(e.Tomb, e.Linger-e.TTL)", New: "return e.Tomb", Guards: []string{"./ledger", "-run", "TestAttempts"}},
	{Rule: "an operation's claim waits for a replica where its policy says so", File: claim, Old: "t.Op.Rule.Durability == agentgw.DurabilityReplicated,", New: "false,", Guards: []string{"./cmd/agentgw", "-run", "TestScripts/replicated_operation"}},
	{Rule: "the spool keeps bytes that are not UTF-8", File: "gateway/spool.go", Old: "utf8.ValidString(h.Value)", New: "utf8.ValidString(h.Name)", Guards: []string{"./gateway", "-run", "TestSpool"}},
	{Rule: "what follows what was missing is not taken for what was before", File: "cmd/agentgw/redeliver.go", Old: "first < l.number", New: "first > l.number", Guards: []string{"./cmd/agentgw", "-run", "TestScripts/redeliver"}},
	{Rule: "one run at a time sends a file", File: "cmd/agentgw/redeliver_lock_unix.go", Old: "syscall.LOCK_EX|", New: "syscall.LOCK_SH|", Guards: []string{"./cmd/agentgw", "-run", "TestRedeliverTwice"}},
	{Rule: "several partitions are claimed before anything is launched", File: machine, Old: "	case reserve:\n		return evReserve", New: "	case false:\n		return evReserve"},
	{Rule: "a lock that is held is in the way", File: "ledger/elsewhere.go", Old: "x != nil && h.names(x) && x.State.Open()", New: "x != nil && h.names(x) && !x.State.Open()", Guards: []string{"./ledger", "-run", "TestInterleavings"}},
	{Rule: "a caller's key that another has taken is not let go", File: "ledger/hold.go", Old: "if err != nil || !k.names(e) {", New: "if err != nil || false && !k.names(e) {", Guards: []string{"./ledger", "-run", "TestInterleavings"}},
	{Rule: "a refusal elsewhere releases the claim", File: claim, Old: "			if err := t.release(ctx); err != nil {\n				return Finding{}, err\n			}\n			continue", New: "			continue"},
	{Rule: "a claim that may stand is withdrawn", File: flow, Old: "if errors.As(err, &unsure) {", New: "if errors.As(err, &unsure) && ctx == nil {"},
	{Rule: "an outcome that cannot be written waits", File: attempt, Old: "	written := g.spool(claim.Effect, res)", New: "	if err != nil {\n		return claim.Effect\n	}\n	written := g.spool(claim.Effect, res)"},
	{Rule: "the caller's going away changes nothing", File: flow, Old: "	ctx = context.WithoutCancel(ctx)\n	start := g.Clock.Now()", New: "	start := g.Clock.Now()", Guards: []string{"./gateway", "-run", "HangUp|GoesAway|Leaves|Left|Caller|Disconnect"}},
	{Rule: "no ledger, no guarded effect", File: flow, Old: "if why := g.unsafe.Load(); why != nil {", New: "if why := g.unsafe.Load(); why != nil && ctx == nil {", Guards: []string{"./gateway", "./simulate"}},
	{Rule: "a token is bound to principal and arguments", File: token, Old: "p.call.Tenant, p.call.Principal, string(p.op.ArgDigest[:]), string(head)", New: "string(head)", Guards: []string{"./gateway", "./simulate"}},
	{Rule: "the tenant is part of every key", File: "canonicalize/key.go", Old: "id.tenant = r.call.Tenant", New: `id.tenant = ""`},
	{Rule: "net/http has nothing that it could send twice (GetBody)", File: sender,
		Old: "	return req.WithContext(ctx)\n", New: "	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(t.body)), nil }\n	return req.WithContext(ctx)\n",
		Guards: []string{"./gateway", "-run", "TestNothingIsSentTwice"}},
	{Rule: "a swap checks every version (memory)", File: "ledger/store.go", Old: "apply = apply && found[i].Version == c.Want", New: "_ = found[i].Version == c.Want", Guards: []string{"./ledger/memstore"}},
	{Rule: "a swap that finds its own stamp has succeeded", File: "ledger/store.go", Old: "found[i].Stamp == s.Stamp", New: "false", Guards: []string{"./ledger/memstore"}},
	{Rule: "go-redis is told to retry nothing (MaxRetries alone)", File: "ledger/redisstore/redisstore.go", Old: "MaxRetries:               -1", New: "MaxRetries:               3", Guards: []string{"./ledger/redisstore", "-run", "TestNothingIsRetried"}},
	{Rule: "go-redis re-sends nothing (MaxRetries)", File: "ledger/redisstore/redisstore.go", Old: "MaxRetries:               -1", New: "MaxRetries:               3",
		And:    []edit{{"ledger/redisstore/swap.go", "func (once) NoRetry() bool { return true }", "func (once) NoRetry() bool { return false }"}},
		Guards: []string{"./ledger/redisstore", "-run", "TestAnswerLost|TestClusterRedirects"}},
	{Rule: "a write whose answer is lost is not sent again", File: "ledger/redisstore/swap.go", Old: "if !cmds[i].looks || !broke(", New: "if !broke(", Guards: failover("TestLookAgain|TestAnswerLost$")},
	{Rule: "a look whose connection broke is made again", File: "ledger/redisstore/swap.go", Old: "if !cmds[i].looks || !broke(", New: "if true || !broke(", Guards: failover("TestLookAgain")},
	{Rule: "a Redis that is behind what was seen of it takes nothing", File: "ledger/redisstore/swap.lua", Old: "if last < struct.unpack('>I8', ARGV[1], 9) then", New: "if false then", Guards: failover("TestFloor")},
	{Rule: "the script is named after the primaries", File: "ledger/redisstore/primaries.go", Old: "	if s.noHeal {\n		ids, ask = nil, false\n	}", New: "	ids, ask = nil, false", Guards: failover("TestBackToTheFirst")},
	{Rule: "a Redis that hands scripts to replicas is asked who it is", File: "ledger/redisstore/swap.lua", Old: "if ask and not", New: "if false and not", Guards: failover("TestReplicasThatKnowTheScript")},
	{Rule: "what was forgotten is written back", File: "ledger/redisstore/heal.lua", Old: "elseif there < version then", New: "elseif false then", Guards: failover("TestWhatAFailoverLoses")},
	{Rule: "what was deleted stays deleted", File: "ledger/redisstore/heal.lua", Old: "if is and (there < version or there == version and what == 'd') then", New: "if false then", Guards: failover("TestDeletedStaysDeleted")},
	{Rule: "claims wait for the other gateways after a failover", File: "ledger/redisstore/window.go", Old: "	if left <= 0 {\n		return nil", New: "	if true {\n		return nil", Guards: failover("TestWhatAFailoverLoses|TestStartAfterFailover")},
	{Rule: "a gateway that starts after a failover waits", File: "ledger/redisstore/window.go", Old: "since, wait = p.time, s.window", New: "since = p.time", Guards: failover("TestStartAfterFailover")},
	{Rule: "a gateway hears of losses that another one has mended", File: "ledger/redisstore/window.go", Old: "		if !known[id].Equal(since) {\n			return true", New: "		if !known[id].Equal(since) {\n			continue", Guards: failover("TestFlushed")},
	{Rule: "a former primary's answer does not count", File: "ledger/redisstore/swap.go", Old: "if s.epoch.Load() != c.is.epoch ||", New: "if", Guards: failover("TestAnswerOfAFormerPrimary")},
	{Rule: "a claim is replicated before anything is sent", File: "ledger/redisstore/replicas.go", Old: " || wait.Val() < int64(c.replicas) {", New: " {", Guards: failover("TestReplicated$")},
}
