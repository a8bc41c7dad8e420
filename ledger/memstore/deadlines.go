package memstore

import "container/heap"

// deadlines is a heap of the entries that expire, the next one first.
type deadlines []*entry

// put files an entry under its time of expiry, again where that has changed, and takes out one that does not expire.
func (d *deadlines) put(e *entry) {
	switch {
	case e.place < 0 && e.expires != 0:
		heap.Push(d, e)
	case e.place >= 0 && e.expires != 0:
		heap.Fix(d, e.place)
	case e.place >= 0:
		heap.Remove(d, e.place)
	}
}

func (d deadlines) Len() int           { return len(d) }
func (d deadlines) Less(i, j int) bool { return d[i].expires < d[j].expires }

func (d deadlines) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].place, d[j].place = i, j
}

func (d *deadlines) Push(x any) {
	e := x.(*entry)
	e.place = len(*d)
	*d = append(*d, e)
}

func (d *deadlines) Pop() any {
	old := *d
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*d = old[:len(old)-1]
	e.place = -1
	return e
}
