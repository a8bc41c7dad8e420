package meaning

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/cespare/xxhash/v2"
	openai "github.com/sashabaranov/go-openai"

	"agentgw"
)

// Embedded compares free text by the embeddings of a model service, behind the same exact gates as Lexical. Where the service does not
// answer in time, the lexical measure takes its place. It is safe for concurrent use.
type Embedded struct {
	Lexical
	Service *Service
	Model   string      // text-embedding-3-small
	Least   float64     // cosine from which texts are worth asking about; 0 is 0.75
	Fell    func(error) // told when the lexical measure took over; may be nil

	cache sync.Map // xxHash of model and text -> vector of length one
	kept  int
	mu    sync.Mutex
}

const (
	defaultLeast = 0.75
	maxBatch     = 256 // texts of one question
	maxVectors   = 4096
)

// Nearest is Lexical.Nearest, with the cosine of embeddings as closeness.
func (e *Embedded) Nearest(ctx context.Context, texts map[string]string, earlier []map[string]string) []agentgw.Likeness {
	var passing []int
	var wanted []string
	for i, c := range earlier {
		if !e.gates(texts, c) {
			continue
		}
		passing = append(passing, i)
		for name, s := range texts {
			if other := c[name]; s != "" && other != "" && s != other {
				wanted = append(wanted, s, other)
			}
		}
	}
	if len(passing) == 0 {
		return nil
	}
	vectors, err := e.vectors(ctx, wanted)
	if err != nil {
		if e.Fell != nil {
			e.Fell(err)
		}
		return e.Lexical.Nearest(ctx, texts, earlier)
	}
	return e.rank(texts, earlier, passing, vectors)
}

func (e *Embedded) rank(texts map[string]string, earlier []map[string]string, passing []int, vectors map[string][]float32) []agentgw.Likeness {
	least := e.Least
	if least == 0 {
		least = defaultLeast
	}
	var out []agentgw.Likeness
	for _, i := range passing {
		like := agentgw.Likeness{Index: i, Score: 1}
		for name, s := range texts {
			other := earlier[i][name]
			if s == "" || other == "" || s == other {
				continue
			}
			like.Score = min(like.Score, cosine(vectors[s], vectors[other]))
			like.Differs = append(like.Differs, wordsApart(e.prepare(s), e.prepare(other))...)
		}
		if like.Score >= least {
			out = append(out, like)
		}
	}
	closestFirst(out)
	return out
}

// vectors returns the embeddings of texts, from the cache or in one question for each batch.
func (e *Embedded) vectors(ctx context.Context, texts []string) (map[string][]float32, error) {
	out := make(map[string][]float32, len(texts))
	var missing []string
	for _, s := range texts {
		if _, ok := out[s]; ok {
			continue
		}
		if v, ok := e.cache.Load(e.hash(s)); ok {
			out[s] = v.([]float32)
			continue
		}
		out[s] = nil
		missing = append(missing, s)
	}
	if len(missing) == 0 {
		return out, nil
	}
	if e.Service.resting() {
		return nil, errResting
	}
	bounded, cancel := context.WithTimeout(ctx, e.Service.timeout)
	defer cancel()
	for len(missing) > 0 {
		batch := missing[:min(len(missing), maxBatch)]
		missing = missing[len(batch):]
		if err := e.ask(bounded, batch, out); err != nil {
			e.Service.failed(ctx)
			return nil, fmt.Errorf("embeddings: %w", err)
		}
	}
	return out, nil
}

func (e *Embedded) ask(ctx context.Context, batch []string, out map[string][]float32) error {
	answer, err := e.Service.client.CreateEmbeddings(ctx, openai.EmbeddingRequestStrings{Input: batch, Model: openai.EmbeddingModel(e.Model)})
	if err != nil {
		return err
	}
	if len(answer.Data) != len(batch) {
		return fmt.Errorf("the service answered %d vectors for %d texts", len(answer.Data), len(batch))
	}
	for _, d := range answer.Data {
		if d.Index < 0 || d.Index >= len(batch) {
			return fmt.Errorf("the service answered a vector for text %d of %d", d.Index, len(batch))
		}
		v, err := unit(d.Embedding)
		if err != nil {
			return err
		}
		out[batch[d.Index]] = v
		e.keep(batch[d.Index], v)
	}
	for _, s := range batch {
		if out[s] == nil {
			return errors.New("the service answered one text twice and another not at all")
		}
	}
	return nil
}

// keep remembers a vector. A full cache is emptied: what is still asked about comes back soon.
func (e *Embedded) keep(s string, v []float32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.kept++; e.kept > maxVectors {
		e.cache.Clear()
		e.kept = 1
	}
	e.cache.Store(e.hash(s), v)
}

// hash names a text in the cache. It is no identity: a collision would at worst ask about the wrong pair.
func (e *Embedded) hash(s string) uint64 { return xxhash.Sum64String(e.Model + "\x00" + s) }

// unit scales a vector to length one.
func unit(v []float32) ([]float32, error) {
	var sum float64
	for _, f := range v {
		sum += float64(f) * float64(f)
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return nil, errors.New("the service answered a vector without direction")
	}
	scale := float32(1 / math.Sqrt(sum))
	out := make([]float32, len(v))
	for i, f := range v {
		out[i] = f * scale
	}
	return out, nil
}

func cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	var sum float32
	for i := range a {
		sum += a[i] * b[i]
	}
	return float64(sum)
}
