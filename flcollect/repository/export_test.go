package repository

import "github.com/iotenablers/enablers/internal/httpapi"

// Doors of the tests.
var (
	JoinKey = joinKey
	Receive = receive
)

// RoutesAndDocument are what has to agree.
func RoutesAndDocument() ([]httpapi.Route, []byte) { return newREST(&Store{}, nil).routes(), openapi }
