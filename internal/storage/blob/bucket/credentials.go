package bucket

import (
	"net/http"
	"os"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// metadataTimeout bounds a request to the machine's metadata service. On machines without the service, packets are
// dropped.
const metadataTimeout = 10 * time.Second

// machineCredentials returns the credentials that the AWS tools would find, in their order: the AWS_* variables, the
// shared credentials file, a web identity (Kubernetes), the container's endpoint (ECS, EKS), the instance's metadata
// service. They are read again shortly before they expire.
func machineCredentials() *credentials.Credentials {
	role := &credentials.IAM{Client: &http.Client{Timeout: metadataTimeout}}
	// The library would send requests to this endpoint for the other two kinds too.
	if !anySet("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI") {
		role.Endpoint = os.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT")
	}
	return credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, role})
}

func anySet(names ...string) bool {
	for _, name := range names {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
}
