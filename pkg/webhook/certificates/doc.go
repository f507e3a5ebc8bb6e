// Package certificates provides the webhook's certificate if no other tool does: it
// is a certificate authority of its own, makes it known to the API servers, and
// replaces both before they expire.
//
//	rotator, err := certificates.New(secrets, configurations, certificates.Options{
//		Secret: "webhook-certificates", Configuration: "k8sconnect",
//		Namespace: "k8sconnect", Service: "webhook",
//	})
//	tlsConfig.GetCertificate = rotator.GetCertificate
//	err = rotator.Run(ctx) // in every replica
//
// Everything that has to be remembered is in one Secret. Every replica looks at the
// Secret and at the webhook configuration, and takes the one step that they call
// for; a second replica finds it done. A certificate is served only when all API
// servers have had time to learn of its authority, and an authority is forgotten
// only when nothing that it signed is valid any more.
//
// It does not read certificates from files, as cert-manager provides them, and does
// not serve.
package certificates
