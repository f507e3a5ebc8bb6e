package pod

import "testing"

// The texts of containerd 1.6 to 2.1, CRI-O and cri-dockerd, with the answers of public registries.
// Only a registry's answer about the image itself is ImageNotFound, which ends a wait.
func TestPullFaults(t *testing.T) {
	const image = "docker.io/library/redis:7"
	for message, want := range map[string]struct{ image, code, why string }{
		// The registry has no such image.
		`rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/library/redis:7": failed to resolve reference "docker.io/library/redis:7": docker.io/library/redis:7: not found`: {code: notFound},
		`failed to resolve image: docker.io/library/redis:7: not found`: {image: "redis:7", code: notFound},
		`Back-off pulling image "redis": ErrImagePull: rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/library/redis:latest": failed to resolve reference "docker.io/library/redis:latest": docker.io/library/redis:latest: not found`: {image: "redis", code: notFound},
		`rpc error: code = NotFound desc = failed to resolve reference "registry.example/app@sha256:0123": registry.example/app@sha256:0123: not found`:                                                                                                             {image: "registry.example/app@sha256:0123", code: notFound},
		`rpc error: code = Unknown desc = initializing source docker://redis:7: reading manifest 7 in docker.io/library/redis: manifest unknown`:                                                                                                                    {code: notFound},
		`rpc error: code = Unknown desc = reading manifest 7 in quay.io/a/redis: name unknown: repository name not known to registry`:                                                                                                                               {image: "quay.io/a/redis:7", code: notFound},
		`rpc error: code = Unknown desc = Error response from daemon: manifest for redis:7 not found: manifest unknown: manifest unknown`:                                                                                                                           {code: notFound},
		`failed to resolve reference "1.dkr.ecr.eu-west-1.amazonaws.com/app:1": name unknown: The repository with name 'app' does not exist in the registry with id '1'`:                                                                                            {image: "1.dkr.ecr.eu-west-1.amazonaws.com/app:1", code: notFound},
		`rpc error: code = Unknown desc = reading manifest 1 in harbor.example/p/app: unknown: artifact p/app:1 not found`:                                                                                                                                          {image: "harbor.example/p/app:1", code: notFound},
		`failed to resolve reference "europe-docker.pkg.dev/p/r/app:1": unexpected status from HEAD request to https://europe-docker.pkg.dev/v2/p/r/app/manifests/1: 404 Not Found`:                                                                                 {image: "europe-docker.pkg.dev/p/r/app:1", code: notFound},

		// Something else was not found.
		`rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/library/redis:7": failed to unpack image on snapshotter overlayfs: unexpected media type text/html for sha256:0123: not found`:                                                                                         {code: pullFailed, why: "unexpected media type text/html for sha256:0123: not found"},
		"rpc error: code = Unknown desc = error getting credentials - err: exec: \"docker-credential-ecr-login\": executable file not found in $PATH, out: ``":                                                                                                                                               {code: pullFailed, why: "exec: \"docker-credential-ecr-login\": executable file not found in $PATH, out: ``"},
		`SignatureValidationFailed: image pull failed for docker.io/library/redis:7 because the signature validation failed: Source image rejected: Required key not found`:                                                                                                                                  {code: pullFailed, why: "Source image rejected: Required key not found"},
		`rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/library/redis:7": failed to copy: httpReadSeeker: content digest sha256:0123: not found`:                                                                                                                               {code: pullFailed, why: "httpReadSeeker: content digest sha256:0123: not found"},
		`rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/library/redis:7": failed to prepare extraction snapshot "extract-1 sha256:0123": parent snapshot sha256:4567 does not exist: not found`:                                                                                {code: pullFailed, why: "parent snapshot sha256:4567 does not exist: not found"},
		`rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/library/redis:7": failed to unpack image on snapshotter stargz: snapshotter "stargz": not found`:                                                                                                                       {code: pullFailed, why: `snapshotter "stargz": not found`},
		`rpc error: code = Unknown desc = failed to pull and unpack image "docker.io/library/redis:7": failed to resolve reference "docker.io/library/redis:7": failed to do request: Head "https://registry-1.docker.io/v2/library/redis/manifests/7": dial tcp: lookup registry-1.docker.io: no such host`: {code: pullFailed, why: `Head "https://registry-1.docker.io/v2/library/redis/manifests/7": dial tcp: lookup registry-1.docker.io: no such host`},
		`rpc error: code = Unknown desc = failed to pull and unpack image "docker.io/library/redis:7": failed to extract layer sha256:01: write /var/lib/x: no space left on device`:                                                                                                                         {code: pullFailed, why: "write /var/lib/x: no space left on device"},
		`rpc error: code = NotFound desc = could not find shim: containerd-shim-runc-v2: not found`:                                                                                                                                                                                                          {code: pullFailed, why: "could not find shim: containerd-shim-runc-v2: not found"},
		`unable to retrieve auth token: the key "docker.io" was not found`: {code: pullFailed, why: `unable to retrieve auth token: the key "docker.io" was not found`},
		`Back-off pulling image "redis:7"`:                                 {code: pullFailed, why: ""},

		// The others.
		`failed to resolve reference "docker.io/library/redis:7": pull access denied, repository does not exist or may require authorization`:                     {code: notFoundOrDenied},
		`failed to resolve reference "registry.example/app:1": unexpected status from HEAD request to https://registry.example/v2/app/manifests/1: 403 Forbidden`: {image: "registry.example/app:1", code: accessDenied},
		`rpc error: code = Unknown desc = reading manifest 7 in docker.io/library/redis: unauthorized: authentication required`:                                   {code: accessDenied},
		`rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/library/redis:7": no match for platform in manifest: not found`:             {code: platformMissing},
		`choosing image instance: no image found in manifest list for architecture arm64, variant "v8", OS linux`:                                                 {code: platformMissing},
	} {
		named := want.image
		if named == "" {
			named = image
		}
		if got := pullFault(named, message); got != want.code {
			t.Errorf("%q, want %q: %s", got, want.code, message)
		}
		if got := innermost(message); want.code == pullFailed && got != want.why {
			t.Errorf("innermost error %q, want %q: %s", got, want.why, message)
		}
	}
}
