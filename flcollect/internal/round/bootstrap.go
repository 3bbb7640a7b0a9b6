package round

import (
	"context"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// ErrNoParameters is matched by the error of a client that has no parameters to begin with.
var ErrNoParameters = errors.New("the client has no parameters to begin with")

// Lacking returns an error that matches [ErrNoParameters] for a client that does not
// implement get_parameters, or whose parameters are empty, and otherwise err.
func Lacking(model strategy.Model, err error) error {
	var status *flower.StatusError
	switch {
	case errors.As(err, &status) && status.Code == flower.GetParametersNotImplemented:
		return fmt.Errorf("%w: it does not implement get_parameters", ErrNoParameters)
	case err == nil && len(model) == 0:
		return fmt.Errorf("%w: its get_parameters returns none", ErrNoParameters)
	}
	return err
}

// Bootstrap has a client train from its own parameters and returns the model. It sends empty
// ones, as Flower does in the first round of a training without parameters to begin with.
// Flower averages the models of all clients of that round, which began with different numbers.
func (c *Conductor) Bootstrap(ctx context.Context, client *Client) (strategy.Model, error) {
	reason := ""
	switch {
	case c.private != nil:
		reason = "with dp-adaptive a model that one client has trained must not be sent to others"
	case c.config.Masking != nil:
		reason = "with secagg the server must not get a model that one client has trained"
	case c.config.Encryption != nil:
		reason = "updates are encrypted"
	case client.Edge():
		reason = "it is a collector"
	}
	if reason != "" {
		return nil, fmt.Errorf("%w, and the job cannot begin with a model that it trains: %s; "+
			"name a model that the repository has, or implement get_parameters", ErrNoParameters, reason)
	}
	ins := flower.FitIns{Parameters: flower.FromTensors(), Config: c.configure(Start{Number: 1})}
	res, err := client.Session.Fit(ctx, ins)
	if err != nil {
		return nil, fmt.Errorf("%w, and does not train without: %w", ErrNoParameters, err)
	}
	defer res.Release()
	model, err := res.Parameters.Decode()
	if err == nil {
		err = Sound(model, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("%w, and the model that it trained cannot be used: %w", ErrNoParameters, err)
	}
	return Owned(model) // its memory is that of the answer
}
