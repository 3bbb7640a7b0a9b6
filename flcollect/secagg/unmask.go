package secagg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
)

// held is a share, and who held it.
type held struct {
	share  share
	holder uint64
}

// unmask asks the clients whose vectors were added for the shares that their
// neighbours' masks follow from, and removes the masks: the own mask of each
// client that is in the sum, and the pair masks of each that is not.
func (r *Round) unmask(ctx context.Context, active []uint64) error {
	alive := members(active)
	dead := func(id uint64) bool { return r.sharers[id] && !alive[id] }
	requests := make(map[uint64]Values, len(active))
	for _, client := range active {
		requests[client] = Values{
			nameStage:  string(StageUnmask),
			nameActive: within(r.neighbours[client], func(id uint64) bool { return alive[id] }),
			nameDead:   within(r.neighbours[client], dead),
		}
	}
	shares := make(map[uint64][]held, len(r.sharers)) // by owner
	_, err := r.ask(ctx, StageUnmask, requests, func(client uint64, answer Values) error {
		owners, blobs, err := answer.pairs(nameOwners, nameOwnersShares)
		if err != nil {
			return err
		}
		if err := sameClients(owners, within(r.neighbours[client], func(id uint64) bool { return r.sharers[id] })); err != nil {
			return fmt.Errorf("value %q: %w", nameOwners, err)
		}
		read := make([]share, len(blobs))
		for i, blob := range blobs {
			if read[i], err = parseShare(blob); err != nil {
				return fmt.Errorf("value %q: client %d: %w", nameOwnersShares, owners[i], err)
			}
		}
		for i, owner := range owners {
			shares[owner] = append(shares[owner], held{share: read[i], holder: client})
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.removeMasks(ctx, active, shares)
}

// removeMasks restores the secrets and removes the masks that follow from them.
func (r *Round) removeMasks(ctx context.Context, active []uint64, shares map[uint64][]held) error {
	alive := members(active)
	masks := make([]hidden, 0, len(r.sharers))
	for _, client := range r.config.Clients {
		if !r.sharers[client] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("secagg: stage %s: %w", StageUnmask, context.Cause(ctx))
		}
		secret, err := r.restore(client, shares[client])
		if err != nil {
			return err
		}
		if alive[client] {
			masks = append(masks, hidden{seed: secret})
			continue
		}
		pairs, err := r.pairMasks(client, secret, alive)
		if err != nil {
			return fmt.Errorf("%w: restore the key of client %d: %w", ErrProtocol, client, err)
		}
		masks = append(masks, pairs...)
	}
	if err := r.sum.unmask(ctx, masks, runtime.NumCPU()); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("secagg: stage %s: %w", StageUnmask, context.Cause(ctx))
		}
		return fmt.Errorf("%w: stage %s: %w", ErrProtocol, StageUnmask, err)
	}
	return nil
}

// restore returns a secret of a client from the shares of its neighbours.
func (r *Round) restore(client uint64, from []held) ([]byte, error) {
	if len(from) < r.config.Threshold {
		return nil, fmt.Errorf("%w: stage %s: %d shares of client %d came; %d are needed to remove its masks",
			ErrTooFew, StageUnmask, len(from), client, r.config.Threshold)
	}
	slices.SortFunc(from, func(a, b held) int { return cmp.Compare(a.share.index, b.share.index) })
	shares := make([]share, len(from))
	for i, h := range from {
		shares[i] = h.share
	}
	secret, wrong, err := combine(shares, r.config.Threshold)
	if err != nil {
		return nil, fmt.Errorf("%w: restore a secret of client %d: %w", ErrProtocol, client, err)
	}
	if wrong >= 0 {
		r.fail(StageUnmask, from[wrong].holder, fmt.Errorf("its share of a secret of client %d contradicts the others", client))
	}
	return secret, nil
}

// pairMasks returns the masks by which the vectors of a client's neighbours
// still differ, because the client's own vector is not there.
func (r *Round) pairMasks(client uint64, secret []byte, alive map[uint64]bool) ([]hidden, error) {
	private, err := parsePrivate(secret)
	if err != nil {
		return nil, err
	}
	if !private.PublicKey().Equal(r.keys[client].mask) {
		return nil, errors.New("it does not belong to its public key")
	}
	var masks []hidden
	for _, neighbour := range r.neighbours[client] {
		if !alive[neighbour] {
			continue
		}
		seed, err := agreeKey(private, r.keys[neighbour].mask)
		if err != nil {
			return nil, err
		}
		// The client with the greater identifier adds, the other one subtracts.
		masks = append(masks, hidden{seed: seed, add: client > neighbour})
	}
	return masks, nil
}
