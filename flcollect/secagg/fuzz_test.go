package secagg_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/secagg"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

func FuzzParcel(f *testing.F) {
	f.Add(readVectors(f).Pairs[0].Data)
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, _, again, err := secagg.Parcel(data); err == nil {
			require.Equal(t, data, again)
		}
	})
}

func FuzzOpenToken(f *testing.F) {
	pair := readVectors(f).Pairs[0]
	key, genuine := []byte(pair.Key), []byte(pair.Token)
	f.Add(genuine)
	f.Add([]byte("gAAAAA=="))
	f.Fuzz(func(t *testing.T, token []byte) {
		data, err := secagg.OpenToken(key, token)
		if err == nil && !bytes.Equal(token, genuine) {
			require.Equal(t, pair.Data, data, "only who has the key makes tokens")
		}
	})
}

func FuzzKeys(f *testing.F) {
	for _, pair := range readVectors(f).Pairs {
		for i := range pair.Public {
			f.Add([]byte(pair.Public[i]))
			f.Add([]byte(pair.Private[i]))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		public, err := secagg.ParsePublic(data)
		private, failed := secagg.ParsePrivate(data)
		if err == nil && failed == nil {
			require.False(t, private.PublicKey().Equal(public), "a text is one kind of key")
		}
	})
}

func FuzzCombine(f *testing.F) {
	shares := secagg.Split([]byte("a secret of two blocks"), 3, 5)
	f.Add(shares[0], shares[1], shares[2], shares[3], shares[4], 3)
	f.Add(shares[0], shares[0], shares[0], shares[0], shares[0], 1)
	f.Fuzz(func(t *testing.T, a, b, c, d, e []byte, threshold int) {
		secret, wrong, err := secagg.Combine([][]byte{a, b, c, d, e}, threshold)
		if err == nil {
			require.LessOrEqual(t, len(secret), len(a))
			require.Less(t, wrong, 5)
		}
	})
}

func FuzzReadVector(f *testing.F) {
	valid := slices.Concat(tensor.Encode(tensor.FromInt64s([]int64{1, 2, 3, 4, 5, 6}, 2, 3))...)
	f.Add(slices.Concat(tensor.Encode(tensor.FromInt64s([]int64{7}))...), valid)
	f.Add(valid, bytes.Replace(valid, []byte("(2, 3)"), []byte("(9999999,)"), 1))
	f.Fuzz(func(t *testing.T, weight, data []byte) {
		arrays, err := secagg.ReadVector([][]byte{weight, data}, [][]int{{2, 3}})
		if err == nil {
			require.Equal(t, 1, arrays[0].Len())
			require.Equal(t, 6, arrays[1].Len())
		}
	})
}

// FuzzClient_Answer sends a client lists that are wrong in every stage after the first.
func FuzzClient_Answer(f *testing.F) {
	pair := readVectors(f).Pairs[0]
	f.Add("share_keys", "7", []byte(pair.Public[0]), []byte(pair.Public[1]), uint64(7))
	f.Add("collect_masked_vectors", "srcs", []byte(pair.Token), []byte("x"), uint64(1))
	f.Add("unmask", "active_nids", []byte{}, []byte{}, uint64(1))
	f.Fuzz(func(t *testing.T, stage, name string, one, two []byte, id uint64) {
		client := secagg.NewClient(1, func(context.Context) ([]tensor.Tensor, int64, error) {
			return []tensor.Tensor{tensor.FromFloat32s([]float32{1})}, 1, nil
		})
		if _, err := client.Answer(t.Context(), secagg.Values{
			"stage": "setup", "sample_num": int64(3), "share_num": int64(3), "threshold": int64(2), "clipping_range": 8.0,
			"target_range": int64(1 << 22), "mod_range": int64(1 << 32), "max_weight": 1000.0,
		}); err != nil {
			t.Fatal(err)
		}
		request := secagg.Values{
			"stage": stage, "srcs": []uint64{id}, "ctxts": [][]byte{one}, "active_nids": []uint64{1, id}, "dead_nids": []uint64{id},
		}
		if stage == "share_keys" {
			request = secagg.Values{"stage": stage}
		}
		request[name] = [][]byte{one, two}
		if _, err := client.Answer(t.Context(), request); err == nil && stage != "setup" {
			t.Fatal("the client answered nonsense")
		}
	})
}
