// Package images tries the container images that deploy/images/build.sh builds: two builds are
// equal, other tools read what is beside them, and each server does its work in podman, as the
// user 65532 on a read-only root. It takes root, podman and skopeo, and runs in mount and network
// namespaces of its own.
package images
