package job

import (
	"context"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/internal/contextstore"
	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
	"github.com/iotenablers/enablers/flcollect/internal/round"
	"github.com/iotenablers/enablers/flcollect/publiccontext"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// adoption is the encryption parameters that a job took from the keys of a client,
// because its configuration leaves them open.
type adoption struct {
	ckks.Settings
	// Client is the client with the keys.
	Client string `json:"client"`
}

// adoptKeys takes the parameters that the job leaves open from the keys with which a
// client encrypted a model. They must be those of the public context, if one is stored.
func (t *training) adoptKeys(ctx context.Context, client string, model strategy.Model) error {
	if t.encryption == nil {
		return nil
	}
	theirs, err := ckks.Observe(model)
	if err != nil {
		return fmt.Errorf("%w: %w", round.ErrUnsound, err)
	}
	if t.encryption.Parameters != nil {
		return t.encryption.CheckKeys(client, theirs)
	}
	settings, err := t.settingsOf(ctx, client, theirs)
	if err != nil {
		return err
	}
	name := excerpt.Client(client)
	named := *t.config.Homomorphic
	filled := named.Fill(settings)
	parameters, err := ckks.NewParameters(filled)
	switch own := named.String(); {
	case err != nil && own == "":
		return fmt.Errorf("%w: client %q encrypts with %s, which cannot be averaged: %w", round.ErrOtherKeys, name, theirs, err)
	case err != nil:
		return fmt.Errorf("%w: client %q encrypts with %s, and the job names %s: %w: "+
			"use keys of those parameters, or leave them out of the job", round.ErrOtherKeys, name, theirs, own, err)
	case parameters.Keys() != theirs:
		return fmt.Errorf("%w: client %q encrypts with %s, and the job names %s: "+
			"use keys of those parameters, or leave them out of the job", round.ErrOtherKeys, name, theirs, own)
	}
	config := t.config
	config.Homomorphic = &filled
	selected, err := t.service.Strategy(ctx, config, t.Record().Guarded)
	if err != nil {
		return fmt.Errorf("%w: client %q encrypts with %s: %w", round.ErrOtherKeys, name, theirs, err)
	}
	t.keys = &adoption{filled, name}
	t.config = config
	t.encryption.Parameters, t.encryption.Source = parameters, name
	t.strategy = selected
	t.conductor.Use(selected)
	return nil
}

// settingsOf returns the settings of a client's keys.
func (t *training) settingsOf(ctx context.Context, client string, theirs ckks.Keys) (ckks.Settings, error) {
	var stored contextstore.Document
	err := t.storage.Insist(ctx, func() (err error) {
		stored, err = t.service.Contexts.Get(ctx, t.id)
		if errors.Is(err, publiccontext.ErrNotFound) {
			err = nil
		}
		return err
	})
	name := excerpt.Client(client)
	switch {
	case err != nil:
		return ckks.Settings{}, err
	case stored.Blob != "" && stored.Parsed.Keys() == theirs:
		return stored.Parsed.Settings()
	case stored.Blob != "":
		return ckks.Settings{}, fmt.Errorf("%w: client %q encrypts with %s, "+
			"and the public context that is stored for the job is of %s: store that of the clients, or delete it",
			round.ErrOtherKeys, name, theirs, stored.Parsed.Keys())
	}
	settings, err := theirs.Settings()
	if err != nil {
		return ckks.Settings{}, fmt.Errorf("%w: client %q: %w: "+
			"name coeff_mod_bit_sizes in the job, or store the clients' public context for it",
			round.ErrOtherKeys, name, err)
	}
	return settings, nil
}
