package job

import (
	"context"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/internal/round"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/internal/tracing"
)

// traced conducts a round in a span of its own.
func (t *training) traced(ctx context.Context, number int) error {
	tracer := t.service.Tracer
	if !tracer.On() {
		return t.round(ctx, number)
	}
	ctx, span := tracer.Start(ctx, fmt.Sprintf("round %d", number), tracing.Internal)
	defer span.End()
	span.Text("flcollect.job", t.id)
	span.Number("flcollect.run", t.Record().Run)
	span.Number("flcollect.round", int64(number))
	err := t.round(ctx, number)
	span.Fail(err)
	return err
}

func (t *training) gather(ctx context.Context, number int) (round.Draw, error) {
	ctx, span := t.service.Tracer.Start(ctx, "gather", tracing.Internal)
	defer span.End()
	drawn, err := t.conductor.Gather(ctx, strategy.Fit, number)
	span.Number("flcollect.clients", int64(len(drawn.Clients)))
	span.Fail(err)
	return drawn, err
}

// step takes a step of a round in a span of its own.
func (t *training) step(ctx context.Context, name string, take func(ctx context.Context, at tracing.Context) (*round.Result, error),
) (*round.Result, error) {
	ctx, span := t.service.Tracer.Start(ctx, name, tracing.Internal)
	defer span.End()
	var at tracing.Context
	if span.On() {
		at = span.Context()
	}
	result, err := take(ctx, at)
	span.Fail(err)
	return result, err
}
