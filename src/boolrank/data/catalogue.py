"""The table of named data sets."""

from __future__ import annotations

from typing import Any

from .dataset import Dataset, Download, Size
from .formats import Delimited, read_jokes, read_lists

_GROUPLENS = "https://files.grouplens.org/datasets/movielens"
_PYROS = "https://raw.githubusercontent.com/makgyver/pyros/52a47eebabaa790fa877ce5653a7d77c2e5caecd"
_LIBREC = "https://guoguibing.github.io/librec/datasets"

_RESEARCH = "research only, no redistribution, no commercial use without permission"
_HARPER = (
    "F. M. Harper and J. A. Konstan. The MovieLens datasets: history and context. "
    "ACM Transactions on Interactive Intelligent Systems 5(4), 2015. doi:10.1145/2827872"
)
_ZIEGLER = (
    "C.-N. Ziegler, S. M. McNee, J. A. Konstan and G. Lausen. Improving recommendation lists "
    "through topic diversification. WWW 2005. doi:10.1145/1060745.1060754"
)


def _movielens(
    name: str, title: str, file: str, text: Delimited, checksum: str, **more: Any
) -> Dataset:
    short = name.removeprefix("movielens-")
    common: dict[str, Any] = {
        "page": f"https://grouplens.org/datasets/movielens/{short}/",
        "licence": _RESEARCH,
        "citation": _HARPER,
    }
    common |= _zip(_GROUPLENS, f"ml-{short}.zip", checksum) | more
    return Dataset(name, title, (file,), text, **common)


def _zip(folder: str, archive: str, checksum: str = "") -> dict[str, Any]:
    return {"archive": archive, "downloads": (Download(f"{folder}/{archive}", archive, checksum),)}


_ALL = (
    _movielens(
        *("movielens-1m", "MovieLens 1M", "ratings.dat"),
        Delimited("user item rating:number time:seconds", separator="::"),
        "sha256:a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
        size=Size(6_040, 3_706, 1_000_209),
        printed=("6040", "3706", "1M", "1.34%"),
        differs="the density of 1,000,209 ratings by 6,040 users of 3,706 films is 4.47 %",
    ),
    _movielens(
        *("movielens-100k", "MovieLens 100K", "u.data"),
        Delimited("user item rating:number time:seconds", separator="\t"),
        "md5:0e33842e24a9c977be4e0107933c0723",
        size=Size(943, 1_682, 100_000),
    ),
    _movielens(
        *("movielens-20m", "MovieLens 20M", "ratings.csv"),
        Delimited("user item rating:number time:seconds", header=True),
        "md5:cd245b17a1ae2cc31bb14903e1204af3",
        licence="research only, redistribution on the same terms, no commercial use",
        size=Size(138_493, 26_744, 20_000_263),
    ),
    Dataset(
        name="bookcrossing",
        title="Book-Crossing, full dump",
        files=("BX-Book-Ratings.csv",),
        archive="BX-CSV-Dump.zip",
        format=Delimited("user item:text rating", separator='";"', header=True, quoted=True),
        page="https://grouplens.org/datasets/book-crossing/",
        by_hand="its publisher's site is gone; find a copy of BX-CSV-Dump.zip",
        licence="research only, with acknowledgement",
        citation=_ZIEGLER,
        size=Size(105_283, 340_556, 1_149_780),
    ),
    Dataset(
        name="bookcrossing-reduced",
        title="Book-Crossing, as reduced by the paper's authors",
        files=("reduced_fold_train.dat", "reduced_fold_test.dat"),
        format=Delimited("user item", separator=" "),
        page="https://github.com/makgyver/pyros",
        downloads=(
            Download(
                f"{_PYROS}/datasets/bx/bx_tr_0.dat",
                "reduced_fold_train.dat",
                "sha256:23eae099cd13e1824f7461ccf666e68235032a838fa01232bfcf442ebc28b1d1",
            ),
            Download(
                f"{_PYROS}/datasets/bx/bx_ts_0.dat",
                "reduced_fold_test.dat",
                "sha256:405796612dd2ab92b1af984b06cc98f8631c1483aa2b7c21be3c4f4dd6354af5",
            ),
        ),
        licence="research only, with acknowledgement",
        citation=_ZIEGLER,
        size=Size(2_802, 5_892, 70_593),
        printed=("2802", "5892", "70593", "0.004%"),
        differs="the density is 0.43 %: the paper prints the share 0.004 as a percentage",
        place="bookcrossing",
    ),
    Dataset(
        name="ciaodvd",
        title="CiaoDVD",
        files=("movie-ratings.txt",),
        **_zip(_LIBREC, "CiaoDVD.zip"),
        format=Delimited("user item category:skip review:skip rating:number time:date"),
        page="https://guoguibing.github.io/librec/datasets.html",
        licence="none stated; published for research",
        citation="G. Guo, J. Zhang, D. Thalmann and N. Yorke-Smith. ETAF: an extended trust "
        "antecedents framework for trust prediction. ASONAM 2014",
        size=Size(17_615, 16_121, 72_345),
        printed=("17615", "16121", "72664", "0.025%"),
        differs="of 72,665 rows (the paper has one fewer) 320 repeat a user and an item, "
        "which leaves 72,345",
    ),
    Dataset(
        name="netflix",
        title="Netflix Prize",
        files=("combined_data_*.txt",),
        archive="*.zip",
        format=Delimited("user rating time:date", sections=True),
        page="https://www.kaggle.com/datasets/netflix-inc/netflix-prize-data",
        by_hand="Netflix no longer distributes it, and the copy on Kaggle needs a login: open "
        "https://www.kaggle.com/datasets/netflix-inc/netflix-prize-data, download the archive or "
        "its combined_data_1.txt to combined_data_4.txt",
        licence=_RESEARCH,
        citation="J. Bennett and S. Lanning. The Netflix Prize. KDD Cup and Workshop 2007",
        size=Size(480_189, 17_770, 100_480_507),
        printed=("93705", "3561", "3.3M", "0.99%"),
        differs="the paper uses a reduced set, and how it was reduced is not published",
    ),
    Dataset(
        name="filmtrust",
        title="FilmTrust",
        files=("ratings.txt",),
        **_zip(_LIBREC, "filmtrust.zip"),
        format=Delimited("user item rating:number", separator=" "),
        page="https://guoguibing.github.io/librec/datasets.html",
        licence="none stated; published for research",
        citation="G. Guo, J. Zhang and N. Yorke-Smith. A novel Bayesian similarity measure for "
        "recommender systems. IJCAI 2013",
        size=Size(1_508, 2_071, 35_494),
        printed=("1508", "2071", "35496", "1.13%"),
        differs="of 35,497 rows (the paper has one fewer) 3 repeat a user and an item, "
        "which leaves 35,494; the density is 1.14 %",
    ),
    Dataset(
        name="jester",
        title="Jester, dataset 1, file 1",
        files=("jester-data-1.[cx][sl][vs]*",),
        **_zip("https://goldberg.berkeley.edu/jester-data", "jester-data-1.zip"),
        format=read_jokes,
        page="https://goldberg.berkeley.edu/jester-data/",
        licence="research, with acknowledgement",
        citation="K. Goldberg, T. Roeder, D. Gupta and C. Perkins. Eigentaste: a constant time "
        "collaborative filtering algorithm. Information Retrieval 4(2), 2001",
        size=Size(24_430, 100, 1_031_893),
        printed=("24430", "100", "1M", "42.24%"),
    ),
    Dataset(
        name="gowalla",
        title="Gowalla check-ins, as split by Wang and others",
        files=("train.txt", "test.txt"),
        format=read_lists,
        ordered=False,
        page="https://github.com/xiangwang1223/neural_graph_collaborative_filtering",
        by_hand="open https://github.com/xiangwang1223/neural_graph_collaborative_filtering and "
        "save train.txt and test.txt of Data/gowalla",
        licence="none stated; published for research",
        citation="X. Wang, X. He, M. Wang, F. Feng and T.-S. Chua. Neural graph collaborative "
        "filtering. SIGIR 2019. doi:10.1145/3331184.3331267",
        size=Size(29_858, 40_981, 1_027_370),
    ),
)

DATASETS: dict[str, Dataset] = {dataset.name: dataset for dataset in _ALL}
