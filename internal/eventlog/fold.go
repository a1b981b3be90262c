package eventlog

import (
	"context"
	"iter"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Streams reads the events of one stream.
type Streams interface {
	// ReadStream returns up to limit events of a stream with a version above after, in order.
	ReadStream(ctx context.Context, stream string, after int64, limit int) ([]Recorded, error)
}

// pageSize is the number of events that one query of an iterator reads.
const pageSize = 500

// Read iterates over the events of a stream with a version above after, in order, to the end of the stream. It reads
// a page at a time. After an error, the iteration ends.
func Read(ctx context.Context, from Streams, stream string, after int64) iter.Seq2[Recorded, error] {
	return func(yield func(Recorded, error) bool) {
		for after := after; ; { // an iterator may be ranged over twice
			page, err := from.ReadStream(ctx, stream, after, pageSize)
			if err != nil {
				yield(Recorded{}, err)
				return
			}
			for _, rec := range page {
				if !yield(rec, nil) {
					return
				}
				after = rec.Version
			}
			if len(page) < pageSize {
				return
			}
		}
	}
}

// ReadThrough iterates as Read does, over a stream that is known to have reached a version. If the stream ends before
// that version, the iteration ends with an Internal error. If after is not below version, ReadThrough reads and
// yields nothing.
func ReadThrough(ctx context.Context, from Streams, stream string, after, version int64) iter.Seq2[Recorded, error] {
	return func(yield func(Recorded, error) bool) {
		if after >= version {
			return
		}
		last := after
		for rec, err := range Read(ctx, from, stream, after) {
			if !yield(rec, err) || err != nil {
				return
			}
			last = rec.Version
		}
		if last < version {
			yield(Recorded{}, fault.New(fault.Internal, "", "stream %s ends at version %d, not %d", stream, last, version))
		}
	}
}

// All iterates over events in memory.
func All(events []Recorded) iter.Seq2[Recorded, error] {
	return func(yield func(Recorded, error) bool) {
		for _, rec := range events {
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// Fold applies events to a state in order and returns the resulting state. apply gets each event with its data as
// DecodeKnown decodes it: nil if this binary does not have the type.
func Fold[S any](types *Registry, events iter.Seq2[Recorded, error], state S, apply func(S, Recorded, any) S) (S, error) {
	for rec, err := range events {
		if err != nil {
			return state, err
		}
		data, err := types.DecodeKnown(rec)
		if err != nil {
			return state, err
		}
		state = apply(state, rec, data)
	}
	return state, nil
}

// Collect returns all events of an iterator, or its error.
func Collect(events iter.Seq2[Recorded, error]) ([]Recorded, error) {
	var all []Recorded
	for rec, err := range events {
		if err != nil {
			return nil, err
		}
		all = append(all, rec)
	}
	return all, nil
}
