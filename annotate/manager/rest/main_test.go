package rest_test

import (
	"os"
	"testing"

	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
)

func TestMain(m *testing.M) { os.Exit(managertest.Main(m, os.Stderr)) }
