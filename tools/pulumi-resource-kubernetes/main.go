// Command pulumi-resource-kubernetes is Pulumi's own Kubernetes provider, built from its published Go module.
//
// The module's main package embeds a schema that is generated at release time and is not in the module. The provider
// needs that schema only to answer GetSchema and to import objects without inputs, so an empty one is passed.
package main

import (
	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version"
)

func main() {
	provider.Serve("kubernetes", version.Version, []byte("{}"), []byte("{}"))
}
