package secagg

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// setup sends the parameters of the round and collects public keys.
func (r *Round) setup(ctx context.Context, active []uint64) ([]uint64, error) {
	r.keys = make(map[uint64]publicKeys, len(active))
	requests := make(map[uint64]Values, len(active))
	for _, client := range active {
		requests[client] = Values{
			nameStage: string(StageSetup), nameSamples: int64(len(active)), nameShares: int64(r.config.Shares),
			nameThreshold: int64(r.config.Threshold), nameClipping: r.config.ClippingRange,
			nameTarget: r.config.QuantizationRange, nameModulus: r.config.ModulusRange, nameMaxWeight: r.config.MaxWeight,
		}
	}
	seen := map[string]bool{}
	active, err := r.ask(ctx, StageSetup, requests, func(client uint64, answer Values) error {
		keys, err := readKeys(answer)
		if err != nil {
			return err
		}
		mask, cipher := string(keys.maskPEM), string(keys.cipherPEM)
		if mask == cipher || seen[mask] || seen[cipher] {
			return errors.New("its public keys are not its own: they were sent before")
		}
		seen[mask], seen[cipher] = true, true
		r.keys[client] = keys
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r.prune(StageSetup, active)
}

func readKeys(answer Values) (publicKeys, error) {
	var keys publicKeys
	var err error
	if keys.maskPEM, err = answer.blob(nameMaskKey, maxKey); err != nil {
		return keys, err
	}
	if keys.cipherPEM, err = answer.blob(nameCipherKey, maxKey); err != nil {
		return keys, err
	}
	if keys.mask, err = parsePublic(keys.maskPEM); err != nil {
		return keys, fmt.Errorf("value %q: %w", nameMaskKey, err)
	}
	if _, err = parsePublic(keys.cipherPEM); err != nil {
		return keys, fmt.Errorf("value %q: %w", nameCipherKey, err)
	}
	return keys, nil
}

// share sends each client the keys of its neighbours and collects the encrypted
// shares for them.
func (r *Round) share(ctx context.Context, active []uint64) ([]uint64, error) {
	alive := members(active)
	requests := make(map[uint64]Values, len(active))
	for _, client := range active {
		request := Values{nameStage: string(StageShare)}
		for _, neighbour := range r.neighbours[client] {
			if alive[neighbour] {
				keys := r.keys[neighbour]
				request[strconv.FormatUint(neighbour, 10)] = [][]byte{keys.maskPEM, keys.cipherPEM}
			}
		}
		requests[client] = request
	}
	sent := make(map[uint64]*forward, len(active)) // by sender
	active, err := r.ask(ctx, StageShare, requests, func(client uint64, answer Values) error {
		to, ciphertexts, err := answer.pairs(nameDestinations, nameCiphertexts)
		if err != nil {
			return err
		}
		expected := within(r.neighbours[client], func(id uint64) bool { return alive[id] && id != client })
		if err := sameClients(to, expected); err != nil {
			return fmt.Errorf("value %q: %w", nameDestinations, err)
		}
		for _, ciphertext := range ciphertexts {
			if len(ciphertext) > maxToken {
				return fmt.Errorf("value %q: a ciphertext has %d bytes; %d are allowed", nameCiphertexts, len(ciphertext), maxToken)
			}
		}
		sent[client] = &forward{sources: to, ciphertexts: ciphertexts}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if active, err = r.prune(StageShare, active); err != nil {
		return nil, err
	}
	r.route(active, sent)
	return active, nil
}

// route turns what clients sent into what they receive.
func (r *Round) route(active []uint64, sent map[uint64]*forward) {
	r.sharers = members(active)
	r.forwards = make(map[uint64]*forward, len(active))
	for _, client := range active {
		r.forwards[client] = &forward{}
	}
	for _, sender := range active {
		for i, receiver := range sent[sender].sources {
			if to := r.forwards[receiver]; to != nil {
				to.sources = append(to.sources, sender)
				to.ciphertexts = append(to.ciphertexts, sent[sender].ciphertexts[i])
			}
		}
	}
}

// collect forwards the shares, has the clients train, and adds up what they
// send.
func (r *Round) collect(ctx context.Context, active []uint64) ([]uint64, error) {
	requests := make(map[uint64]Values, len(active))
	for _, client := range active {
		requests[client] = Values{
			nameStage: string(StageCollect), nameCiphertexts: r.forwards[client].ciphertexts, nameSources: r.forwards[client].sources,
		}
	}
	r.forwards = nil
	r.sum = newSum(1+count(r.config.Shapes), r.config.ModulusRange)
	active, err := r.ask(ctx, StageCollect, requests, func(_ uint64, answer Values) error {
		blobs, err := answer.blobs(nameMasked)
		if err != nil {
			return err
		}
		arrays, err := readVector(blobs, r.config.Shapes)
		if err == nil {
			r.sum.add(arrays)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := r.enough(StageCollect, len(active)); err != nil {
		return nil, err
	}
	alive := members(active)
	for client := range r.sharers {
		if n := overlap(r.neighbours[client], alive); n < r.config.Threshold {
			return nil, fmt.Errorf("%w: stage %s: of client %d and its neighbours %d remain; %d are needed to remove its masks",
				ErrTooFew, StageCollect, client, n, r.config.Threshold)
		}
	}
	return active, nil
}
