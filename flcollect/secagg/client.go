package secagg

import (
	"context"
	"crypto/ecdh"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// Train trains the model and returns its arrays and the number of examples.
type Train func(ctx context.Context) (arrays []tensor.Tensor, examples int64, err error)

// Client is the side of a client, with the same messages as Flower's mod. Make
// one with [NewClient]. It may be used by several goroutines; requests are
// answered one after another.
type Client struct {
	id    uint64
	train Train

	mutex      sync.Mutex
	next       Stage
	parameters parameters
	maskKey    *ecdh.PrivateKey
	cipherKey  *ecdh.PrivateKey
	maskPEM    []byte
	cipherPEM  []byte
	seed       []byte
	neighbours map[uint64]clientNeighbour // without itself
	seedShares map[uint64][]byte          // by owner
	keyShares  map[uint64][]byte          // by owner
}

// parameters are what the server says in the first stage.
type parameters struct {
	shares, threshold     int
	clipping, maxWeight   float64
	quantization, modulus int64
}

// clientNeighbour is what a client has of a neighbour.
type clientNeighbour struct {
	mask      *ecdh.PublicKey
	cipherKey []byte // of the encryption of shares
}

// NewClient returns the side of the client with an identifier.
func NewClient(id uint64, train Train) *Client {
	return &Client{id: id, train: train, next: StageSetup}
}

// Answer returns the answer to a request of the server. A request for
// [StageSetup] begins a new round; after an error only such a request is
// accepted. The training happens in [StageCollect].
func (c *Client) Answer(ctx context.Context, request Values) (Values, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	name, _ := request[nameStage].(string)
	stage, next := Stage(name), c.next
	c.next = StageSetup
	if stage != StageSetup && stage != next {
		return nil, fmt.Errorf("secagg: stage %q: expected %q", name, next)
	}
	var answer Values
	var err error
	switch stage {
	case StageSetup:
		answer, err = c.setup(request)
		next = StageShare
	case StageShare:
		answer, err = c.share(request)
		next = StageCollect
	case StageCollect:
		answer, err = c.collect(ctx, request)
		next = StageUnmask
	case StageUnmask:
		answer, err = c.unmask(request)
		next = StageSetup
	}
	if err != nil {
		return nil, fmt.Errorf("secagg: stage %s: %w", stage, err)
	}
	c.next = next
	return answer, nil
}

func (c *Client) setup(request Values) (Values, error) {
	p, err := readParameters(request)
	if err != nil {
		return nil, err
	}
	c.parameters = p
	c.seed, c.neighbours = nil, nil
	c.seedShares, c.keyShares = map[uint64][]byte{}, map[uint64][]byte{}
	if c.maskKey, c.maskPEM, err = newKey(); err != nil {
		return nil, err
	}
	if c.cipherKey, c.cipherPEM, err = newKey(); err != nil {
		return nil, err
	}
	return Values{nameMaskKey: c.maskPEM, nameCipherKey: c.cipherPEM}, nil
}

func readParameters(request Values) (p parameters, err error) {
	shares, err := request.integer(nameShares, 2, maxClients)
	if err != nil {
		return p, err
	}
	threshold, err := request.integer(nameThreshold, 2, shares)
	if err != nil {
		return p, err
	}
	p.shares, p.threshold = int(shares), int(threshold)
	if p.clipping, err = request.positive(nameClipping); err != nil {
		return p, err
	}
	if p.maxWeight, err = request.positive(nameMaxWeight); err != nil {
		return p, err
	}
	if p.quantization, err = request.integer(nameTarget, 1, math.MaxInt32); err != nil {
		return p, err
	}
	if p.modulus, err = request.integer(nameModulus, p.quantization+1, 1<<62); err != nil {
		return p, err
	}
	if p.modulus&(p.modulus-1) != 0 {
		return p, fmt.Errorf("value %q: %d is not a power of 2", nameModulus, p.modulus)
	}
	return p, nil
}

// share draws the seed of the own mask and divides it and the key of the pair
// masks among the neighbours.
func (c *Client) share(request Values) (Values, error) {
	keys, err := c.readNeighbours(request)
	if err != nil {
		return nil, err
	}
	c.seed = make([]byte, 32)
	crand.Read(c.seed) // never fails
	secret, err := encodePrivate(c.maskKey)
	if err != nil {
		return nil, err
	}
	seedShares := split(c.seed, c.parameters.threshold, c.parameters.shares)
	keyShares := split(secret, c.parameters.threshold, c.parameters.shares)
	to, ciphertexts := make([]uint64, 0, len(keys)), make([][]byte, 0, len(keys))
	for i, id := range keys {
		if id == c.id {
			c.seedShares[id], c.keyShares[id] = seedShares[i], keyShares[i]
			continue
		}
		p := parcel{from: c.id, to: id, seedShare: seedShares[i], keyShare: keyShares[i]}
		ciphertext, err := seal(c.neighbours[id].cipherKey, p.encode(), time.Now())
		if err != nil {
			return nil, err
		}
		to, ciphertexts = append(to, id), append(ciphertexts, ciphertext)
	}
	return Values{nameDestinations: to, nameCiphertexts: ciphertexts}, nil
}

// readNeighbours reads the public keys of the neighbours and of the client
// itself, and returns who they are, in ascending order.
func (c *Client) readNeighbours(request Values) ([]uint64, error) {
	c.neighbours = make(map[uint64]clientNeighbour, len(request))
	ids := make([]uint64, 0, len(request))
	seen := map[string]bool{}
	for name, value := range request {
		if name == nameStage {
			continue
		}
		id, err := strconv.ParseUint(name, 10, 64)
		pair, ok := value.([][]byte)
		if err != nil || !ok || len(pair) != 2 {
			return nil, fmt.Errorf("value %q: is not a client with two public keys", name)
		}
		if seen[string(pair[0])] || seen[string(pair[1])] || string(pair[0]) == string(pair[1]) {
			return nil, fmt.Errorf("value %q: a public key is there twice", name)
		}
		seen[string(pair[0])], seen[string(pair[1])] = true, true
		ids = append(ids, id)
		if id == c.id {
			if string(pair[0]) != string(c.maskPEM) || string(pair[1]) != string(c.cipherPEM) {
				return nil, fmt.Errorf("value %q: is not what this client has sent", name)
			}
			continue
		}
		if c.neighbours[id], err = c.readNeighbour(pair); err != nil {
			return nil, fmt.Errorf("value %q: %w", name, err)
		}
	}
	slices.Sort(ids)
	switch {
	case !slices.Contains(ids, c.id):
		return nil, errors.New("the keys of this client are missing")
	case len(ids) < c.parameters.threshold:
		return nil, fmt.Errorf("%d neighbours; %d are needed", len(ids), c.parameters.threshold)
	case len(ids) > c.parameters.shares:
		return nil, fmt.Errorf("%d neighbours; there are only %d shares", len(ids), c.parameters.shares)
	}
	return ids, nil
}

func (c *Client) readNeighbour(pair [][]byte) (clientNeighbour, error) {
	mask, err := parsePublic(pair[0])
	if err != nil {
		return clientNeighbour{}, err
	}
	cipher, err := parsePublic(pair[1])
	if err != nil {
		return clientNeighbour{}, err
	}
	key, err := agreeKey(c.cipherKey, cipher)
	return clientNeighbour{mask: mask, cipherKey: key}, err
}

// collect opens the shares of neighbours, trains, and masks the update.
func (c *Client) collect(ctx context.Context, request Values) (Values, error) {
	sources, ciphertexts, err := request.pairs(nameSources, nameCiphertexts)
	if err != nil {
		return nil, err
	}
	if len(sources)+1 < c.parameters.threshold {
		return nil, fmt.Errorf("%d neighbours; %d are needed", len(sources)+1, c.parameters.threshold)
	}
	masks := []hidden{{seed: c.seed, add: true}}
	for i, source := range sources {
		if err := c.receive(source, ciphertexts[i]); err != nil {
			return nil, fmt.Errorf("client %d: %w", source, err)
		}
		seed, err := agreeKey(c.maskKey, c.neighbours[source].mask)
		if err != nil {
			return nil, fmt.Errorf("client %d: %w", source, err)
		}
		masks = append(masks, hidden{seed: seed, add: c.id > source})
	}
	arrays, examples, err := c.train(ctx)
	if err != nil {
		return nil, err
	}
	return c.mask(ctx, arrays, examples, masks)
}

// receive opens and keeps the shares that a neighbour has sent.
func (c *Client) receive(source uint64, ciphertext []byte) error {
	neighbour, known := c.neighbours[source]
	if _, twice := c.seedShares[source]; !known || twice {
		return errors.New("it is no neighbour, or is there twice")
	}
	data, err := open(neighbour.cipherKey, ciphertext)
	if err != nil {
		return err
	}
	p, err := parseParcel(data)
	if err != nil {
		return err
	}
	if p.from != source || p.to != c.id {
		return fmt.Errorf("its shares are from client %d for client %d", p.from, p.to)
	}
	c.seedShares[source], c.keyShares[source] = p.seedShare, p.keyShare
	return nil
}

// mask quantizes an update and adds the masks.
func (c *Client) mask(ctx context.Context, arrays []tensor.Tensor, examples int64, masks []hidden) (Values, error) {
	p := c.parameters
	weight := math.RoundToEven(float64(examples) / p.maxWeight * float64(p.quantization))
	if examples < 0 || weight >= float64(p.modulus) {
		return nil, fmt.Errorf("%d examples do not fit the modulus", examples)
	}
	ratio := weight / float64(p.quantization)
	random := fractions()
	steps := []uint64{uint64(weight)}
	for i, array := range arrays {
		var err error
		if steps, err = quantize(steps, array.Float64s(), ratio, p.clipping, p.quantization, random); err != nil {
			return nil, fmt.Errorf("array %d: %w", i, err)
		}
	}
	total := &vector[uint64]{modulus: uint64(p.modulus), elements: steps}
	if err := total.unmask(ctx, masks, 1); err != nil {
		return nil, err
	}
	values := make([]int64, len(steps))
	for i, step := range steps {
		values[i] = int64(step & uint64(p.modulus-1))
	}
	blobs := [][]byte{encodeIntegers(values[:1], []int{1})}
	values = values[1:]
	for _, array := range arrays {
		blobs = append(blobs, encodeIntegers(values[:array.Len()], array.Shape()))
		values = values[array.Len():]
	}
	return Values{nameMasked: blobs}, nil
}

// fractions returns random numbers from 0 up to 1, for rounding.
func fractions() func() float64 {
	var seed [32]byte
	crand.Read(seed[:]) // never fails
	return rand.New(rand.NewChaCha8(seed)).Float64
}

// encodeIntegers returns a .npy file.
func encodeIntegers(values []int64, shape []int) []byte {
	data := make([]byte, 0, 8*len(values))
	for _, value := range values {
		data = binary.LittleEndian.AppendUint64(data, uint64(value))
	}
	array, err := tensor.New(tensor.Int64, shape, data)
	if err != nil { // the shape is that of an array with as many elements
		return nil
	}
	return slices.Concat(tensor.Encode(array)...)
}

// unmask returns shares: of the seed of each neighbour whose vector is in the
// sum, and of the key of each other one, never both of one client.
func (c *Client) unmask(request Values) (Values, error) {
	active, err := request.clients(nameActive)
	if err != nil {
		return nil, err
	}
	dead, err := request.clients(nameDead)
	if err != nil {
		return nil, err
	}
	if len(active) < c.parameters.threshold {
		return nil, fmt.Errorf("%d neighbours; %d are needed", len(active), c.parameters.threshold)
	}
	owners := slices.Concat(active, dead)
	if len(members(owners)) != len(owners) || slices.Contains(dead, c.id) {
		return nil, errors.New("both secrets of a client are asked for, or this client's own key")
	}
	shares := make([][]byte, 0, len(owners))
	for i, owner := range owners {
		from := c.seedShares
		if i >= len(active) {
			from = c.keyShares
		}
		s, ok := from[owner]
		if !ok {
			return nil, fmt.Errorf("client %d has sent no shares", owner)
		}
		shares = append(shares, s)
	}
	return Values{nameOwners: owners, nameOwnersShares: shares}, nil
}
