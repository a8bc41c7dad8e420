package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"agentgw"
	"agentgw/ledger"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics counts for Prometheus. It is an Observer. Operations are labels, callers and keys never are: their number has no bound.
type Metrics struct {
	registry  *prometheus.Registry
	decisions *prometheus.CounterVec
	deciding  *prometheus.HistogramVec
	upstream  *prometheus.HistogramVec
	raised    *prometheus.CounterVec
	doubts    *prometheus.GaugeVec
	near      *prometheus.CounterVec
	churn     *prometheus.CounterVec
}

// latency reaches from a duplicate's round trip to the default timeout, in seconds.
var latency = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}

// NewMetrics makes the metrics of one gateway over a ledger.
func NewMetrics(l *ledger.Ledger) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "agentgw_decisions_total",
			Help: "Decisions by operation (empty: none matched), decision and outcome."}, []string{"operation", "decision", "outcome"}),
		deciding: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "agentgw_decision_seconds",
			Help: "Time from a call to its decision, the tool's own time included.", Buckets: latency}, []string{"decision"}),
		upstream: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "agentgw_upstream_seconds",
			Help: "Time that upstreams took, by whether they answered.", Buckets: latency}, []string{"upstream", "result"}),
		raised: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "agentgw_raised_total",
			Help: "What an operator should look at, such as an outcome that came too late to count."}, []string{"operation"}),
		doubts: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "agentgw_effects_in_doubt",
			Help: "Effects whose outcome is not known, as of the last sweep."}, []string{"operation"}),
		near: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "agentgw_near_misses_total",
			Help: "Executed calls that differ from a recent effect of their operation in one field only."}, []string{"operation"}),
		churn: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "agentgw_key_churn_total",
			Help: "Duplicates that came under another idempotency key than the first call."}, []string{"operation"}),
	}
	m.registry.MustRegister(m.decisions, m.deciding, m.upstream, m.raised, m.doubts, m.near, m.churn, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "agentgw_ledger_round_trips_total", Help: "Round trips to the ledger's store."},
			func() float64 { return float64(l.Trips()) }))
	return m
}

// Handler serves the metrics in the Prometheus text format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Decided implements Observer.
func (m *Metrics) Decided(_ *agentgw.Call, d *agentgw.Decision, took time.Duration) {
	m.decisions.WithLabelValues(d.Operation, string(d.Verdict), string(d.Outcome)).Inc()
	m.deciding.WithLabelValues(string(d.Verdict)).Observe(took.Seconds())
	if d.Verdict == agentgw.Executed && d.Effect != nil && d.Effect.NearTo != nil && len(d.Effect.NearTo.Fields) == 1 {
		m.near.WithLabelValues(d.Operation).Inc()
	}
	if d.Churn {
		m.churn.WithLabelValues(d.Operation).Inc()
	}
}

// Raised implements Observer.
func (m *Metrics) Raised(e *agentgw.Effect, _ string) { m.raised.WithLabelValues(e.Operation).Inc() }

// Doubts sets how many effects are in doubt, by operation: what a sweep of the ledger found.
func (m *Metrics) Doubts(byOperation map[string]int) {
	m.doubts.Reset()
	for operation, n := range byOperation {
		m.doubts.WithLabelValues(operation).Set(float64(n))
	}
}

// Time wraps a sender so that its attempts are timed; where says to which upstream a call goes.
func (m *Metrics) Time(s Sender, tools map[string]*Tool) Sender { return &timedSender{s, m, tools} }

type timedSender struct {
	Sender
	metrics *Metrics
	tools   map[string]*Tool
}

func (t *timedSender) Send(ctx context.Context, out *Outgoing) (*Incoming, error) {
	start := time.Now()
	in, err := t.Sender.Send(ctx, out)
	name := ""
	if out.Call.Request != nil {
		name = out.Call.Request.Upstream
	} else if tool := t.tools[out.Call.Tool]; tool != nil {
		name = tool.Upstream
	} else if out.tool != nil {
		name = out.tool.Upstream
	}
	t.metrics.upstream.WithLabelValues(name, sendResult(err)).Observe(time.Since(start).Seconds())
	return in, err
}

func sendResult(err error) string {
	if err == nil {
		return "answered"
	}
	if lost := (*SendError)(nil); errors.As(err, &lost) && !lost.Sent {
		return "never_sent"
	}
	return "lost"
}
