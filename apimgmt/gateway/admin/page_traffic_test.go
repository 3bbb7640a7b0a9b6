package admin_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPages_traffic_namesTheLastMinute(t *testing.T) {
	b := newBrowser(newClient(t))
	b.setup()
	page := b.get("/admin/").text
	require.Contains(t, page, "Median time over the last minute, by route (ms)")
	require.Contains(t, page, ">Median, last minute</th>")
	require.Contains(t, page, ">99 %, last minute</th>")
}
