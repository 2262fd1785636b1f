//! A release in a registry, by the commands of docs/release.md: openssl signs apart from the build, skopeo publishes, cosign verifies.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use fleet_testbed::agent::find_program;
use fleet_testbed::binaries::own;
use fleet_testbed::go_module::{COSIGN, HELMS, REGISTRY};
use fleet_testbed::ports::free_port;
use fleet_testbed::process::spawn_bound;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// What the page calls the place of the release.
const NAME: &str = "registry.example/fleet";
/// Beginnings of the page's lines that build, need a cluster or ask GitHub.
const ELSEWHERE: [&str; 3] = ["make release", "helm install", "gh attestation"];

/// Names the folder of a release that `make release` has built without a key.
const RELEASED: &str = "FLEET_RELEASED";

/// A registry that ends with the value. It keeps what it gets in memory.
struct Registry {
    server: Child,
    port: u16,
}

impl Registry {
    fn start() -> Self {
        let port = free_port().unwrap();
        let arguments = ["-port".into(), port.to_string().into()];
        let server = spawn_bound(&own(&REGISTRY).unwrap(), &arguments, |_| {}).unwrap();
        let mut registry = Self { server, port };
        let deadline = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            let ended = registry.server.try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < deadline, "no registry: {ended:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
        registry
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.server.kill().ok();
        self.server.wait().ok();
    }
}

/// The folder in which a reader of the page is at work, which goes with the value.
struct Stage {
    folder: PathBuf,
    page: String,
    registry: Registry,
}

impl Stage {
    fn new() -> Self {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let registry = Registry::start();
        let folder = std::env::temp_dir().join(format!("fleet-published-{}", std::process::id()));
        let page = fs::read_to_string(repository.join("docs/release.md")).unwrap();
        let stage = Self { folder, page, registry };
        let at = |path: &str| stage.folder.join(path);
        fs::create_dir_all(at("target/debug")).unwrap();
        symlink(find_program("fleet-release").unwrap(), at("target/debug/fleet-release")).unwrap();
        // Where the page goes to another machine, it takes this folder along.
        symlink("target/to-sign", at("to-sign")).unwrap();
        symlink("unsigned", at(&format!("target/release-{VERSION}"))).unwrap();
        let insecure =
            format!("[[registry]]\nlocation = \"{}\"\ninsecure = true\n", stage.address());
        fs::create_dir_all(at(".config/containers")).unwrap();
        fs::write(at(".config/containers/registries.conf"), insecure).unwrap();
        stage
    }

    fn address(&self) -> String {
        format!("localhost:{}", self.registry.port)
    }

    /// The block of the page that has this text, but for what is done elsewhere.
    fn block(&self, text: &str) -> String {
        let mut blocks = self.page.split("```sh\n").skip(1).filter_map(|it| it.split("```").next());
        let block = blocks.find(|block| block.contains(text)).unwrap();
        // A command of two lines is one, also where it is left out.
        let block = block.replace("\\\n", "");
        let is_here = |line: &&str| !ELSEWHERE.iter().any(|it| line.starts_with(it));
        block.lines().filter(is_here).collect::<Vec<_>>().join("\n")
    }

    /// Runs commands in the folder of the release, or above it.
    fn output(&self, place: &str, commands: &str) -> Output {
        let programs = [own(&COSIGN).unwrap(), own(&HELMS[1]).unwrap()];
        let mut path: Vec<_> = programs.iter().map(|it| it.parent().unwrap().to_owned()).collect();
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap()));
        Command::new("bash")
            .args(["-euo", "pipefail", "-c"])
            .arg(commands.replace(NAME, &format!("{}/fleet", self.address())))
            .current_dir(self.folder.join(place))
            .env("PATH", std::env::join_paths(path).unwrap())
            .env("HOME", &self.folder)
            .output()
            .unwrap()
    }

    fn run(&self, place: &str, commands: &str) {
        let output = self.output(place, commands);
        assert!(output.status.success(), "{commands}\n{}", errors(&output));
    }

    /// The release that is published: a built one in the folder that [`RELEASED`] names, else one of files that are no programs, since
    /// what a release makes of programs does not depend on what they do.
    fn assemble(&self) {
        if let Some(built) = std::env::var_os(RELEASED) {
            let copied = Command::new("cp")
                .arg("-r")
                .arg(&built)
                .arg(self.folder.join("target/unsigned"))
                .status();
            assert!(copied.unwrap().success(), "{}", built.display());
            return;
        }
        let programs = self.folder.join("programs");
        fs::create_dir(&programs).unwrap();
        for program in ["hub-agent", "member-agent", "fleetctl"] {
            fs::write(programs.join(program), program).unwrap();
        }
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let assembled = Command::new(find_program("fleet-release").unwrap())
            .current_dir(repository)
            .args(["assemble", "--repository", &format!("{}/fleet", self.address())])
            .args(["amd64", "arm64"].map(|it| format!("--programs={it}={}", programs.display())))
            .args(["rust-std@1", "zig@1", "musl@1"].map(|it| format!("--part={it}")))
            .arg("--out")
            .arg(self.folder.join("target/unsigned"))
            .output()
            .unwrap();
        assert!(assembled.status.success(), "{}", errors(&assembled));
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.folder).ok();
    }
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
#[ignore = "cosign is built with Go, once, some minutes: make soak-release"]
fn a_published_release_verifies_by_the_commands_of_the_page() {
    let stage = Stage::new();
    let release = format!("target/release-{VERSION}");
    stage.run("", &stage.block("openssl ecparam"));
    stage.assemble();
    stage.run("", &stage.block("fleet-release documents"));
    stage.run("", "cp signatures/cosign.pub $HOME/fleet-networking.pub");
    stage.run("", &stage.block("skopeo copy"));
    stage.run(&release, &stage.block("cosign verify"));

    let verify = "cosign verify --insecure-ignore-tlog --key $HOME/fleet-networking.pub";
    let all = format!("while read -r digest name; do {verify} {NAME}/$name; done <OCI-DIGESTS");
    stage.run(&release, &all);
    let pulled = format!(
        "helm4 pull oci://{NAME}/charts/hub-agent --version {VERSION} --plain-http --destination $HOME
         cmp $HOME/hub-agent-{VERSION}.tgz hub-agent-{VERSION}.tgz"
    );
    stage.run(&release, &pulled);

    let image = format!("{NAME}/hub-agent:{VERSION}");
    let other_image = format!("skopeo copy docker://{NAME}/fleetctl:{VERSION} docker://{image}");
    for (change, verify, reason) in [
        (
            "openssl ecparam -name prime256v1 -genkey -noout | openssl ec -pubout -out $HOME/other.pub",
            format!("cosign verify --insecure-ignore-tlog --key $HOME/other.pub {image}"),
            "invalid signature",
        ),
        (&other_image, format!("{verify} {image}"), "no signatures found"),
        (
            "echo >>SHA256SUMS",
            stage.block("cosign verify").lines().take(2).collect::<Vec<_>>().join("\n"),
            "invalid signature",
        ),
    ] {
        stage.run(&release, change);
        let refused = stage.output(&release, &verify);
        assert!(!refused.status.success(), "{change}");
        assert!(errors(&refused).contains(reason), "{change}: {}", errors(&refused));
    }
}
