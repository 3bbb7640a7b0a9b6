package round

import (
	"context"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/compress"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/audit"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// errNoised is the reason why a compressed update with the noise of its client is refused.
var errNoised = errors.New("the update is compressed, and the job has clients add the noise of differential privacy: " +
	"what remains of the noise after compression would not cover the sum")

// read returns the update of a client in the form of the model, and the function to call
// once the update was added. From is nil for an update that was trained on the model of the
// round; others are moved to that model.
func (f *fit) read(ctx context.Context, c *Client, p flower.Parameters, part *audit.Part, from *basis,
) (update strategy.Model, done func(), err error) {
	if f.config.Encryption != nil { // the layers of an encrypted update are messages
		update, err := f.config.Encryption.Decode(p)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", strategy.ErrQuarantined, err)
		}
		return update, func() {}, f.config.Encryption.admit(c.Name(), update, f.start.Number)
	}
	p, dropped, err := f.config.Local.cut(p)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", strategy.ErrQuarantined, err)
	}
	part.Dropped(dropped)
	update, done, err = f.decode(ctx, p, part, from)
	if err != nil {
		return nil, nil, err
	}
	takes, _ := f.strategy.(anyType)
	conformed, converted, err := conform(update, f.start.Model, takes)
	if err != nil {
		done()
		return nil, nil, fmt.Errorf("%w: %w", strategy.ErrQuarantined, err)
	}
	part.Converted(converted)
	if from != nil {
		if conformed, err = rebase(conformed, from.model, f.start.Model, from.weight); err != nil {
			done()
			return nil, nil, fmt.Errorf("%w: %w", strategy.ErrQuarantined, err)
		}
	}
	return conformed, done, nil
}

// decode returns an update as whole layers. If some of these are copies, or will be, it
// waits until the update may have them, and done ends that.
func (f *fit) decode(ctx context.Context, p flower.Parameters, part *audit.Part, from *basis,
) (update strategy.Model, done func(), err error) {
	sent := f.start.Model
	if from != nil {
		sent = from.model
	}
	how := report.Compression{Kind: string(compress.Encoded(p)), Updates: 1, Bytes: length(p), Whole: length(flower.FromTensors(sent...))}
	if how.Kind == "" {
		if update, err = f.config.Encryption.Decode(p); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", strategy.ErrQuarantined, err)
		}
		if compress.Halved(update, sent) {
			how.Kind = string(compress.Float16)
			part.Compressed(how)
		}
		takes, _ := f.strategy.(anyType)
		done, err = f.turn(ctx, from != nil || convertsAny(update, f.start.Model, takes))
		return update, done, err
	}
	part.Compressed(how)
	if f.private != nil && f.private.NoiseFromClients() {
		return nil, nil, fmt.Errorf("%w: %w", strategy.ErrQuarantined, errNoised)
	}
	if done, err = f.turn(ctx, true); err != nil {
		return nil, nil, err
	}
	if update, err = compress.Decode(p, sent); err != nil {
		done()
		return nil, nil, fmt.Errorf("%w: %w", strategy.ErrQuarantined, err)
	}
	return update, done, nil
}
