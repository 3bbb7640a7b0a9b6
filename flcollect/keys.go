package flcollect

import (
	"context"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// errOtherKeys is matched by the error of a client whose keys are of other
// parameters than those of the job.
var errOtherKeys = errors.New("keys of other parameters")

// encrypts reports whether clients encrypt their updates.
func (t *training) encrypts() bool { return t.config.Homomorphic != nil }

// effective is the configuration with the encryption parameters that the job took
// from its clients' keys.
func (o outcome) effective() Config {
	c := o.Config.config()
	if o.Keys != nil {
		settings := o.Keys.Settings
		c.Homomorphic = &settings
	}
	return c
}

// adoption is what a job took from its clients' keys, as its configuration left it
// open.
type adoption struct {
	ckks.Settings
	// Client is whose keys they are.
	Client string `json:"client"`
}

// seal sets the parameters with which updates are encrypted, unless the
// configuration leaves them open.
func (t *training) seal() error {
	if !t.encrypts() || t.config.Homomorphic.Open() {
		return nil
	}
	parameters, err := ckks.NewParameters(*t.config.Homomorphic)
	if err != nil {
		return err
	}
	t.sealed = parameters
	return nil
}

// adopt has the job take what it leaves open from the keys of the client that
// encrypted a model, which must be those of the public context, if one is stored.
func (t *training) adopt(ctx context.Context, client string, model strategy.Model) error {
	if !t.encrypts() {
		return nil
	}
	theirs, err := ckks.Observe(model)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnsound, err)
	}
	if t.sealed != nil {
		return t.agrees(client, theirs)
	}
	settings, err := t.foundIn(ctx, client, theirs)
	if err != nil {
		return err
	}
	named := *t.config.Homomorphic
	filled := named.Fill(settings)
	parameters, err := ckks.NewParameters(filled)
	switch own := named.String(); {
	case err != nil && own == "":
		return fmt.Errorf("%w: client %q encrypts with %s, which cannot be averaged: %w", errOtherKeys, short(client, maxClient), theirs, err)
	case err != nil:
		return fmt.Errorf("%w: client %q encrypts with %s, and the job names %s: %w: "+
			"use keys of those parameters, or leave them out of the job", errOtherKeys, short(client, maxClient), theirs, own, err)
	case parameters.Keys() != theirs:
		return fmt.Errorf("%w: client %q encrypts with %s, and the job names %s: "+
			"use keys of those parameters, or leave them out of the job", errOtherKeys, short(client, maxClient), theirs, own)
	}
	config := t.config
	config.Homomorphic = &filled
	made, err := t.server.makeGuarded(ctx, config, t.record().Guarded)
	if err != nil {
		return fmt.Errorf("%w: client %q encrypts with %s: %w", errOtherKeys, short(client, maxClient), theirs, err)
	}
	t.keys = &adoption{filled, short(client, maxClient)}
	t.config, t.sealed = config, parameters
	t.use(made)
	return nil
}

// foundIn returns the settings of a client's keys.
func (t *training) foundIn(ctx context.Context, client string, theirs ckks.Keys) (ckks.Settings, error) {
	var stored storedContext
	err := t.server.insist(ctx, t.id, func() (err error) {
		stored, _, err = t.server.storedContext(ctx, t.id)
		if errors.Is(err, ErrNoContext) {
			err = nil
		}
		return err
	})
	switch {
	case err != nil:
		return ckks.Settings{}, err
	case stored.Blob != "" && stored.Parsed.Keys() == theirs:
		return stored.Parsed.Settings()
	case stored.Blob != "":
		return ckks.Settings{}, fmt.Errorf("%w: client %q encrypts with %s, and the public context that is stored for the job is of %s: "+
			"store that of the clients, or delete it", errOtherKeys, short(client, maxClient), theirs, stored.Parsed.Keys())
	}
	settings, err := theirs.Settings()
	if err != nil {
		return ckks.Settings{}, fmt.Errorf("%w: client %q: %w: name coeff_mod_bit_sizes in the job, or store the clients' public context for it",
			errOtherKeys, short(client, maxClient), err)
	}
	return settings, nil
}

// agrees returns nil if keys have the parameters of the job. The error names both.
func (t *training) agrees(client string, theirs ckks.Keys) error {
	own := t.sealed.Keys()
	if theirs == own {
		return nil
	}
	if t.keys != nil {
		return fmt.Errorf("%w: client %q encrypts with %s, and client %q with %s: all clients need keys of the same parameters",
			errOtherKeys, short(client, maxClient), theirs, t.keys.Client, own)
	}
	return fmt.Errorf("%w: client %q encrypts with %s, and the job names %s: "+
		"use keys of those parameters, or leave coeff_mod_bit_sizes out of the job", errOtherKeys, short(client, maxClient), theirs, t.sealed)
}

// admits returns nil for the encrypted model of a client whose keys have the
// parameters of the job. Other keys end a job whose first round is not over yet: the
// clients would go on waiting for each other. Later they are one client's fault.
func (t *training) admits(client string, model strategy.Model) error {
	theirs, err := ckks.Observe(model)
	if err != nil {
		return nil // what is wrong is found where it is added
	}
	err = t.agrees(client, theirs)
	if err != nil && t.record().Round < 1 {
		return &fatalError{err}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", strategy.ErrQuarantined, err)
	}
	return nil
}

// prove asks a client that is to train for the first time for its parameters, and
// looks at the keys: one with others cannot decrypt what it is sent, and would only
// go away. A client that has no parameters to give trains all the same.
func (t *training) prove(ctx context.Context, c *client) (bytes int64, err error) {
	if !t.encrypts() || c.proven {
		return 0, nil
	}
	res, err := c.session.Parameters(ctx, flower.GetParametersIns{})
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case err != nil:
		c.proven = true
		return 0, nil
	}
	defer res.Release()
	for _, blob := range res.Parameters.Tensors {
		bytes += int64(blob.Len())
	}
	model, err := t.decode(res.Parameters)
	if err == nil {
		err = t.admits(c.session.ID(), model)
	} else {
		err = nil
	}
	c.proven = err == nil
	return bytes, err
}

// use has the training go on with a strategy.
func (t *training) use(made strategy.Strategy) {
	t.job.strategy = made
	t.policy = made.Policy()
	t.private, _ = made.(*dp.Adaptive)
}
