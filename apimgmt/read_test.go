package apimgmt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/internal/apitest"
)

func TestPublisher_Inventory_countsVersionsByState(t *testing.T) {
	p := apitest.New(t).Publisher
	for _, u := range []apimgmt.Upload{
		{Enabler: "sky", Definition: []byte(apitest.File("1", "/sky"))},
		{Enabler: "sky", Definition: []byte(apitest.File("2", "/sky2")), State: apimgmt.Draft},
		{Enabler: "sea", Definition: []byte(apitest.File("1", "/sea"))},
	} {
		_, err := p.Publish(t.Context(), u)
		require.NoError(t, err)
	}
	made, err := p.Inventory(t.Context())
	require.NoError(t, err)
	require.Equal(t, apimgmt.Inventory{Enablers: 2, Versions: map[apimgmt.State]int{apimgmt.Published: 2, apimgmt.Draft: 1}}, made)
	require.NoError(t, p.Delete(t.Context(), "sea", "", apimgmt.Condition{}))
	made, err = p.Inventory(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, made.Versions[apimgmt.Published])
}
