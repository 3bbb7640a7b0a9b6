package deploy_test

import "testing"

func checkMetrics(t *testing.T, folder string) { t.Helper() }
