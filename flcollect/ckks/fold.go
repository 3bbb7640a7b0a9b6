package ckks

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// stored is how clients store their ciphertexts: the range of the versions of
// SEAL, and the compressions. The zero value is empty; joining is independent of
// the order.
type stored struct {
	lowest, highest version
	modes           byte // bit m is set where mode m was seen
}

func storedAs(h header) stored { return stored{h.version, h.version, 1 << h.mode} }

func (s stored) join(other stored) stored {
	if s.modes == 0 {
		return other
	}
	if other.modes == 0 {
		return s
	}
	if other.lowest.less(s.lowest) {
		s.lowest = other.lowest
	}
	if s.highest.less(other.highest) {
		s.highest = other.highest
	}
	s.modes |= other.modes
	return s
}

// version returns the version to write for the clients: theirs, or one that all
// can read if they differ.
func (s stored) version() version {
	if s.lowest == s.highest || s.lowest.major == 3 {
		return s.lowest
	}
	return commonVersion
}

// mode returns the compression to write for the clients.
func (s stored) mode(c Compression) mode {
	switch {
	case c == Zlib, c == Echo && s.modes == 1<<zlibMode:
		return zlibMode
	case c == Zstd, c == Echo && s.modes == 1<<zstdMode:
		return zstdMode
	}
	return plainMode
}

// spread calls do with every place below count, from as many goroutines as there
// are codecs, until all calls are done, one failed or the context ended. It
// returns after all calls have, with the error of the lowest place that failed.
func (a *Aggregation) spread(ctx context.Context, count int, do func(c *codec, place int) error) (int, error) {
	var next atomic.Int64
	var stop atomic.Bool
	var mu sync.Mutex
	var first error
	at := count
	work := func(c *codec) {
		for !stop.Load() {
			place := int(next.Add(1)) - 1
			if place >= count {
				return
			}
			err := ctx.Err()
			if err == nil {
				err = do(c, place)
			}
			if err != nil {
				stop.Store(true)
				mu.Lock()
				if place < at {
					at, first = place, err
				}
				mu.Unlock()
			}
		}
	}
	var group sync.WaitGroup
	for _, c := range a.codecs[1:min(len(a.codecs), max(count, 1))] {
		group.Go(func() { work(c) })
	}
	work(a.codecs[0])
	group.Wait()
	return at, first
}

// fold adds examples times every ciphertext, or changes nothing and returns the
// place that failed with the error.
func (a *Aggregation) fold(ctx context.Context, ciphertexts []blob, examples int64) (stored, int, error) {
	factors := a.strategy.parameters.factors(examples)
	added := make([]bool, len(ciphertexts))
	var mu sync.Mutex
	var all stored
	place, err := a.spread(ctx, len(ciphertexts), func(c *codec, place int) error {
		h, body, err := a.strategy.parameters.open(c, ciphertexts[place])
		if err != nil {
			return err
		}
		if a.sums[place] == nil {
			a.sums[place] = make([]byte, len(body))
		}
		added[place] = true
		mu.Lock()
		all = all.join(storedAs(h))
		mu.Unlock()
		return a.strategy.parameters.add(factors, a.sums[place], body)
	})
	if err != nil {
		a.takeBack(ciphertexts, added, factors)
		return stored{}, place, err
	}
	return all, 0, nil
}

// takeBack subtracts the added part of an update. It takes as long as adding it.
func (a *Aggregation) takeBack(ciphertexts []blob, added []bool, factors []factor) {
	if len(a.clients) == 0 {
		return // the sums are dropped
	}
	negative := make([]factor, len(factors))
	for k, f := range factors {
		negative[k] = f.negative()
	}
	_, err := a.spread(context.Background(), len(ciphertexts), func(c *codec, place int) error {
		if !added[place] {
			return nil
		}
		_, body, err := a.strategy.parameters.open(c, ciphertexts[place])
		if err == nil {
			_ = a.strategy.parameters.add(negative, a.sums[place], body) // the error of the first attempt
		}
		return err
	})
	if err != nil {
		a.broken = fmt.Errorf("round %d: an update changed while it was added: %w", a.round, err)
	}
}

// blur adds noise of a deviation, in units of the coefficients. It works on as many
// ciphertexts in parallel as there are codecs; the noise is drawn in their order.
func (a *Aggregation) blur(ctx context.Context, deviation float64, gaussian func() float64) error {
	p := a.strategy.parameters
	r := p.ring()
	var periods []int
	for _, l := range a.form {
		for place := range l.count {
			periods = append(periods, p.period(l, place))
		}
	}
	drawn := make([]noise, len(a.codecs))
	for from := 0; from < len(a.sums); from += len(drawn) {
		some := drawn[:min(len(drawn), len(a.sums)-from)]
		for k := range some {
			if err := some[k].draw(r, periods[from+k], deviation, gaussian); err != nil {
				return err
			}
		}
		_, err := a.spread(ctx, len(some), func(_ *codec, k int) error {
			some[k].addTo(a.sums[from+k], r)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// encode returns the sums as ciphertexts of the mean.
func (a *Aggregation) encode(ctx context.Context) ([]blob, error) {
	p, v, m := a.strategy.parameters, a.stored.version(), a.stored.mode(a.strategy.compression)
	scale := p.scale * float64(a.examples)
	ciphertexts := make([]blob, len(a.sums))
	_, err := a.spread(ctx, len(a.sums), func(c *codec, place int) error {
		sum := a.sums[place]
		if m == plainMode {
			start := p.prefix(v, scale, headerSize)
			putHeader(start, header{v, m, uint64(len(start) + len(sum))})
			ciphertexts[place] = blob{start, sum}
			return nil
		}
		c.content = append(append(c.content[:0], p.prefix(v, scale, 0)...), sum...)
		object, err := c.seal(sum, v, m, c.content) // the sum is in the content now
		a.sums[place] = nil
		ciphertexts[place] = blob{object}
		return err
	})
	return ciphertexts, err
}

// factors returns the factor of a number of examples for every modulus.
func (p *Parameters) factors(examples int64) []factor {
	factors := make([]factor, len(p.data))
	for k, q := range p.data {
		factors[k] = newFactor(q, uint64(examples))
	}
	return factors
}

var errResidue = errors.New("a coefficient is not below its modulus")

// add adds the factors times the coefficients of a ciphertext to a sum.
func (p *Parameters) add(factors []factor, sum, body []byte) error {
	size := p.settings.PolyModulusDegree * 8
	good := true
	for at := 0; at < len(body); at += size {
		f := factors[at/size%len(factors)]
		good = f.addTo(sum[at:at+size], body[at:at+size]) && good
	}
	if !good {
		return errResidue
	}
	return nil
}
