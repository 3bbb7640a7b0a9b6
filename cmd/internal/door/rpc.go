package door

import (
	"context"

	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// Admit returns the name of a caller of another protocol than HTTP, who needs the role. The
// error is that of the context, or has a method HTTPStatus() int and a text for the caller:
// what is missing, and never a credential. An open door admits every caller, without a name.
func (d *Door) Admit(ctx context.Context, c access.Credentials, role httpapi.Role) (name string, err error) {
	identity, err := d.Door.Admit(ctx, c, role)
	switch {
	case err == nil:
		return identity.Name, nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	}
	return "", d.Refusal(err)
}
